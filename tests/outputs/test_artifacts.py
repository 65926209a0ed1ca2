"""What a run leaves for the next Mutator: curve, class scores, tail, warnings, traceback."""

from __future__ import annotations

import math

import pytest

from lae_controller.outputs.artifacts import max_step, read_artifacts, trim_traceback
from lae_controller.program import Artifacts


def artifacts(text: str, metric_name: str = "val_loss") -> Artifacts:
    return read_artifacts(text.encode(), metric_name)


CURVES = [
    (
        "val loss",
        "step 0: train loss 4.2, val loss 4.3\niter 0: loss 4.25, time 9ms\n"
        "iter 10: loss 3, time 3ms\n"
        "step 20: train loss 2.2, val loss 2.4\n",
        ((0, 4.3), (20, 2.4)),
    ),
    (
        "acc",
        "epoch 1/3 loss=0.9 acc=0.3\nepoch 2/3 loss=0.7 acc=0.4\nepoch 3/3 loss=0.6 acc=0.5\n",
        ((1, 0.3), (2, 0.4), (3, 0.5)),
    ),
    # the metric stands at one step only: the validation loss, then the loss
    (
        "acc",
        "step 1 val_loss 0.9 loss 3\nstep 2 val_loss 0.8 loss 2\nstep 2 acc 0.5",
        ((1, 0.9), (2, 0.8)),
    ),
    ("acc", "iter 10: loss 4.1, time 3ms\niter 20: loss 3.9, time 3ms", ((10, 4.1), (20, 3.9))),
    ("acc", "[ 20/100] loss 0.5\n[ 40/100] loss 0.4", ((20, 0.5), (40, 0.4))),
    ("acc", "Epoch [1/9], Loss: 0.5\nEpoch [2/9], Loss: 0.25", ((1, 0.5), (2, 0.25))),
    (
        "valid-rmse",
        "[0]\ttrain-rmse:0.5\tvalid-rmse:0.6\n[1]\ttrain-rmse:0.4\tvalid-rmse:0.5",
        ((0, 0.6), (1, 0.5)),
    ),
    (
        "eval_loss",
        "{'loss': 0.9, 'epoch': 0.5}\n{'eval_loss': 0.8, 'epoch': 1.0}\n"
        "{'loss': 0.7, 'epoch': 1.5}\n{'eval_loss': 0.6, 'epoch': 2.0}\n",
        ((1.0, 0.8), (2.0, 0.6)),
    ),
    (
        "l",
        "step:1/9 val_loss:3.5 step_avg:95ms\nstep:2/9 val_loss:3.25 step_avg:9ms",
        ((1, 3.5), (2, 3.25)),
    ),
    # a header line gives the epoch of the lines below it
    (
        "val_accuracy",
        "Epoch 1/2\n1/2 [=>..] - loss: 0.9\r2/2 [====] - 1s - loss: 0.8 - val_accuracy: 0.5\n"
        "Epoch 2/2\n1/2 [=>..] - loss: 0.7\r2/2 [====] - 1s - loss: 0.6 - val_accuracy: 0.6\n",
        ((1, 0.5), (2, 0.6)),
    ),
    # of several values at one step the last counts
    (
        "acc",
        "Epoch 1\n1/2 loss: 0.9\r2/2 loss: 0.8\nEpoch 2\n1/2 loss: 0.7\r2/2 loss: 0.6\n",
        ((1, 0.8), (2, 0.6)),
    ),
    # a counter that starts again goes on counting
    (
        "acc",
        "step 1 loss 5\nstep 2 loss 4\nstep 1 loss 3\nstep 2 loss 2",
        ((1, 5), (2, 4), (3, 3), (4, 2)),
    ),
    (
        "acc",
        "epoch 1 step 1 loss 5\nepoch 1 step 2 loss 4\n"
        "epoch 2 step 1 loss 3\nepoch 2 step 2 loss 2",
        ((1, 4), (2, 2)),
    ),
    # a closing line that looks back is no point of the curve
    (
        "acc",
        "epoch 1 acc 0.5\nepoch 2 acc 0.7\nepoch 3 acc 0.6\nbest epoch 2 acc 0.7",
        ((1, 0.5), (2, 0.7), (3, 0.6)),
    ),
    ("loss", "step 1 loss 2\nstep 2 loss nan\nstep 3 loss 1", ((1, 2), (3, 1))),
    (
        "accuracy",
        "epoch  train_loss  accuracy  time\n"
        "0      0.9         0.5       00:03\n1      0.7         0.6       00:03\n",
        ((0, 0.5), (1, 0.6)),
    ),
    ("acc", "loss 3\nloss 2\n", ()),
    ("acc", "step 1 loss 3\n", ()),
    ("acc", "", ()),
]


class TestCurve:
    @pytest.mark.parametrize(("name", "text", "curve"), CURVES)
    def test_points(self, name: str, text: str, curve: tuple[tuple[float, float], ...]) -> None:
        assert artifacts(text, name).curve == curve

    def test_thinned_to_200_points_with_both_ends(self) -> None:
        text = "\n".join(f"step {i} val_loss {i / 8}" for i in range(5000))
        curve = artifacts(text).curve
        assert len(curve) == 200
        assert curve[0] == (0, 0)
        assert curve[-1] == (4999, 4999 / 8)
        assert list(curve) == sorted(set(curve))

    def test_exactly_200_points_stay(self) -> None:
        text = "\n".join(f"step {i} val_loss 0.5" for i in range(200))
        assert [step for step, _ in artifacts(text).curve] == list(range(200))

    def test_max_step(self) -> None:
        assert max_step(((1, 0.5), (30, 0.4), (20, 0.3))) == 30
        assert max_step(()) is None


class TestPerClass:
    @pytest.mark.parametrize(
        ("text", "scores"),
        [
            ("class 3: 0.91\nclass 4: 0.92", {"3": 0.91, "4": 0.92}),
            ("  Class cat: acc 0.5", {"cat": 0.5}),
            ("class: cat, accuracy: 50%", {"cat": 50.0}),
            ("digit 7 acc 0.93\ndigit 7 acc 0.95", {"7": 0.95}),
            ("label 'traffic light' f1=0.4", {"traffic light": 0.4}),
            ("accuracy[cat]=0.8 accuracy[dog]=0.7", {"cat": 0.8, "dog": 0.7}),
            ("iou['sky']: 0.6", {"sky": 0.6}),
            ("Accuracy for class: plane is 68.4 %", {"plane": 68.4}),
            ("Accuracy of truck : 57 %", {"truck": 57.0}),
            ("Accuracy of the network on the 10000 test images: 55 %", {}),
            ("class weights: 0.3", {}),
            ("class 3: 120", {}),
            ("class 3 loss 0.9", {}),
            ("class 3: nan", {}),
            ("class Net(Module): 0.1", {}),
            ("accuracy: 0.8", {}),
        ],
    )
    def test_scores(self, text: str, scores: dict[str, float]) -> None:
        assert dict(artifacts(text).per_class) == scores

    def test_classification_report(self) -> None:
        text = (
            "              precision    recall  f1-score   support\n\n"
            "         cat       0.90      0.80      0.85        10\n"
            "   hot  dog        0.50      0.60      0.55        12\n"
            "           7       1.00      1.00      1.00         3\n\n"
            "    accuracy                           0.75        25\n"
            "   macro avg       0.80      0.80      0.80        25\n"
            "weighted avg       0.75      0.75      0.75        25\n"
            "         row       0.11      0.11      0.11        25\n"
        )
        scores = artifacts(text).per_class
        assert dict(scores) == {"cat": 0.85, "hot dog": 0.55, "7": 1.0}

    def test_bounded(self) -> None:
        text = "\n".join(f"class c{i}: 0.5" for i in range(3000))
        assert len(artifacts(text).per_class) == 200


class TestLogTail:
    def test_last_lines(self) -> None:
        tail = read_artifacts(b"a\nb\n\nc\n\n", "loss", tail_lines=2).log_tail
        assert tail == "b\nc"

    def test_keeps_what_a_crash_said(self) -> None:
        text = (
            "reading\n" * 100 + "Traceback (most recent call last):\n"
            '  File "fit.py", line 3, in <module>\n    net = Mlp(dpeth=2)\n'
            "TypeError: Mlp.__init__() got an unexpected keyword argument 'dpeth'\n"
        )
        assert artifacts(text).log_tail.endswith("keyword argument 'dpeth'")
        assert artifacts(text).log_tail.count("\n") == 39

    def test_long_lines_are_cut(self) -> None:
        tail = artifacts("start " + "x" * 5000 + " end\nlast").log_tail
        first, last = tail.split("\n")
        assert first.startswith("start")
        assert first.endswith("end")
        assert len(first) <= 300
        assert last == "last"

    @pytest.mark.parametrize("tail_chars", [0, 1, 5, 50, 4000])
    def test_bounded_in_characters(self, tail_chars: int) -> None:
        raw = "\n".join(f"line {i}" for i in range(100)).encode()
        tail = read_artifacts(raw, "loss", tail_chars=tail_chars).log_tail
        assert len(tail) <= tail_chars
        assert "line 99".endswith(tail[-7:])

    def test_of_a_progress_bar_the_last_state_stays(self) -> None:
        bar = "".join(f"\r {i}%|##   | {i}/100 [00:01<00:01, loss={i}]" for i in range(101))
        tail = artifacts(f"start{bar}\nend").log_tail
        assert tail.split("\n") == ["start", " 100%|##   | 100/100 [00:01<00:01, loss=100]", "end"]

    def test_colours_are_gone(self) -> None:
        assert artifacts("\x1b[31mred\x1b[0m").log_tail == "red"

    def test_empty(self) -> None:
        assert artifacts("") == Artifacts()


class TestWarnings:
    @pytest.mark.parametrize(
        "text",
        [
            "split_a=1.4\nsplit_c=nan\nmean_loss=1.4 (2 of 3 splits)",
            "loss nan",
            "loss: -inf, acc 0.1",
            "grad norm: NaN",
            "{'grad_norm': nan}",
            "tensor(nan)",
            "losses: [0.1, nan, 0.2]",
            "| loss | nan |",
            "loss\tinf\tacc\t1",
        ],
    )
    def test_non_finite(self, text: str) -> None:
        assert artifacts(text).warnings == ("non-finite number in the output",)

    @pytest.mark.parametrize(
        "text",
        [
            "loss: 0.1",
            "INFO: starting",
            "info=1 name: nano nan_policy=omit",
            "checking for nan values",
            "NaN check passed",
            "mode: inference",
            "x = nan-safe",
        ],
    )
    def test_none(self, text: str) -> None:
        assert artifacts(text).warnings == ()


CRASH = """\
step 1 loss 3
Traceback (most recent call last):
  File "fit.py", line 9, in <module>
    main()
    ~~~~^^
  File "net.py", line 4, in main
    return x @ w
ValueError: shapes (2,3) and (4,5) are not aligned
"""


class TestTraceback:
    def test_last_one_from_its_first_line(self) -> None:
        text = "Traceback (most recent call last):\nKeyError: 'old'\n" + CRASH + "cleaning up\n"
        trimmed = trim_traceback(text.encode())
        assert trimmed.splitlines() == [
            "Traceback (most recent call last):",
            '  File "fit.py", line 9, in <module>',
            "    main()",
            '  File "net.py", line 4, in main',
            "    return x @ w",
            "ValueError: shapes (2,3) and (4,5) are not aligned",
        ]

    def test_message_of_several_lines(self) -> None:
        text = CRASH + "\tsize mismatch for a\n\tsize mismatch for b\nbye\n"
        lines = trim_traceback(text.encode()).splitlines()
        assert lines[-2:] == ["\tsize mismatch for a", "\tsize mismatch for b"]

    def test_prefix_of_a_launcher_is_taken_off(self) -> None:
        text = "".join(f"[rank0]: {line}\n" for line in CRASH.splitlines()) + "[rank1]: bye\n"
        lines = trim_traceback(text.encode()).splitlines()
        assert lines[0] == "Traceback (most recent call last):"
        assert lines[-1] == "ValueError: shapes (2,3) and (4,5) are not aligned"

    @pytest.mark.parametrize("limit", [80, 200, 400, 1500])
    def test_deep_one_keeps_innermost_frame_and_message(self, limit: int) -> None:
        frames = "".join(f'  File "f{i}.py", line {i}, in f\n    call()\n' for i in range(300))
        text = f"Traceback (most recent call last):\n{frames}RuntimeError: out of luck\n"
        trimmed = trim_traceback(text.encode(), limit)
        assert len(trimmed) <= limit
        assert trimmed.endswith("RuntimeError: out of luck")
        assert 'File "f299.py", line 299' in trimmed

    def test_endless_message_keeps_its_begin(self) -> None:
        text = CRASH.replace("not aligned", "x" * 9000)
        trimmed = trim_traceback(text.encode(), 300)
        assert len(trimmed) <= 300
        assert "ValueError: shapes (2,3)" in trimmed
        assert 'File "net.py", line 4' in trimmed

    def test_killed_before_the_message(self) -> None:
        text = CRASH.rpartition("ValueError")[0]
        assert trim_traceback(text.encode()).endswith("return x @ w")

    @pytest.mark.parametrize(
        ("text", "trimmed"),
        [
            ("", ""),
            ("one\n\n\ntwo\n\n", "one\ntwo"),
            (
                " File 'fit.py', line 3\n   def f(\n        ^\nSyntaxError: '(' not closed\n",
                " File 'fit.py', line 3\n   def f(\n        ^\nSyntaxError: '(' not closed",
            ),
        ],
    )
    def test_without_one_the_last_lines(self, text: str, trimmed: str) -> None:
        assert trim_traceback(text.encode()) == trimmed

    def test_without_one_bounded_from_the_end(self) -> None:
        trimmed = trim_traceback(b"\n".join(b"line %d" % i for i in range(9999)), 100)
        assert len(trimmed) <= 100
        assert trimmed.endswith("line 9999"[:8] + "8")

    def test_of_an_endless_line_the_end_stays(self) -> None:
        trimmed = trim_traceback(b"x" * 9000 + b" Killed", 100)
        assert len(trimmed) <= 100
        assert trimmed.endswith("Killed")


LONG_LINES = [
    "step 1 loss " + "1," * 500_000,
    "step " * 100_000,
    "epoch" + " " * 500_000,
    "class " * 100_000,
    "class " + "x" * 500_000,
    "accuracy of " * 50_000,
    "accuracy[" * 50_000,
    " " * 500_000 + "0.1 0.1 0.1 3",
    "9/" * 300_000,
    "nan, " * 100_000,
    "Traceback (most recent call last):" * 5_000,
]


class TestLongLines:
    """These return at all: no pattern may need time that grows with the square of a line."""

    @pytest.mark.parametrize("line", LONG_LINES, ids=range(len(LONG_LINES)))
    def test_end_is_still_read(self, line: str) -> None:
        raw = f"{line}\nstep 2 val_loss 0.5\nstep 3 val_loss 0.25\n".encode()
        found = read_artifacts(raw, "val_loss")
        assert found.curve == ((2, 0.5), (3, 0.25))
        assert found.log_tail.endswith("step 3 val_loss 0.25")
        assert len(trim_traceback(raw)) <= 1500

    def test_values_are_finite(self) -> None:
        curve = artifacts("step 1 val_loss 1e999\nstep 2 val_loss 1\nstep 3 val_loss 2").curve
        assert all(math.isfinite(value) for _, value in curve)
