"""What is read from a run's output: examples of real programs beside the values expected."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lae_controller.errors import ConfigError
from lae_controller.outputs.lines import clean_lines
from lae_controller.outputs.metric import Reading, compile_metric_pattern, find_metric
from lae_controller.outputs.metric_file import TAIL_BYTES, read_metric_file
from lae_controller.outputs.numbers_grammar import parse_number
from lae_controller.outputs.param_count import find_params
from lae_controller.program import Reason


def metric(text: str, name: str, pattern: str | None = None) -> Reading:
    return find_metric(text.encode(), name, pattern=pattern)


class TestCleanLines:
    @pytest.mark.parametrize(
        ("raw", "lines"),
        [
            (b"", []),
            (b"one", ["one"]),
            (b"one\ntwo\n", ["one", "two"]),
            (b"one\r\ntwo\r\n", ["one", "two"]),
            (b" 10%\r 20%\rdone\n", [" 10%", " 20%", "done"]),
            (b"a\n\nb", ["a", "", "b"]),
            (b"\x1b[1;32mloss\x1b[0m: \x1b[31m0.3\x1b[m", ["loss: 0.3"]),
            (b"\x1b]0;a title\x07loss 1", ["loss 1"]),
            (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ 5", ["link 5"]),
            (b"\x1b]0;never closed\nloss 1", ["", "loss 1"]),
            (b"\x1b[2Kloss 0.4\x1b[1Gloss 0.3", ["loss 0.4", "loss 0.3"]),
            (b"a\x1b[3Cb", ["a b"]),
            (b"loss: \x1b[3", ["loss: "]),
            (b"\x1b(Bplain\x1b=", ["plain"]),
            (b"l\x00o\x00s\x07s 1\x1b", ["loss 1"]),
            (b"a\tb", ["a\tb"]),
            (b"page\x0cnext\x0bthird", ["page", "next", "third"]),
            (b"loss 0.5\x08\x08\x080.4", ["loss 0.4"]),
            (b"bar 1\x08\x08\x08\x08\x08\rbar 2", ["bar 1", "bar 2"]),
            (b"x\x08\x08\x08y", ["y"]),
            (b"caf\xe9 ok \xff", ["caf\ufffd ok \ufffd"]),
            ("Verlust 0.3 \u2588".encode(), ["Verlust 0.3 \u2588"]),
        ],
    )
    def test_lines(self, raw: bytes, lines: list[str]) -> None:
        assert clean_lines(raw) == lines


class TestParseNumber:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("3", 3.0),
            ("-0.25", -0.25),
            ("+1.5", 1.5),
            (".5", 0.5),
            ("7.", 7.0),
            ("6.3e-07", 6.3e-07),
            ("1E3", 1000.0),
            ("97.5%", 97.5),
            ("97.5 %", 97.5),
            ("  0.1\t", 0.1),
            ("NaN", float("nan")),
            ("-nan", float("nan")),
            ("inf", float("inf")),
            ("-Infinity", float("-inf")),
            ("1e999", float("inf")),
        ],
    )
    def test_number(self, text: str, value: float) -> None:
        assert parse_number(text) == pytest.approx(value, rel=0, abs=0, nan_ok=True)

    @pytest.mark.parametrize(
        "text",
        [
            *("", " ", "0,95", "2,115.88", "1_000", "1 000", "1.2.3", "3/10", "0x1f", "3k"),
            *("1.5e", "e5", "- 3"),
            "--3",
            "1.5s",
            ".",
            "-",
            "info",
            "nano",
            "true",
            "0.3,",
            "\u0663",
            "1\n2",
            "9" * 500,
        ],
    )
    def test_not_a_number(self, text: str) -> None:
        assert parse_number(text) is None


# One row an example: the name the user gave, what was printed, the value that must be read.
READ = [
    # separators
    ("acc", "acc: 0.91", 0.91),
    ("acc", "acc=0.91", 0.91),
    ("acc", "acc 0.91", 0.91),
    ("acc", "acc = 0.91", 0.91),
    ("acc", "acc :\t 0.91", 0.91),
    ("acc", "acc      0.91   360", 0.91),
    ("acc", "acc := 0.91", 0.91),
    ("acc", "acc\uff1a0.91", 0.91),
    # the last one counts, on whatever line and wherever in it
    ("acc", "acc: 0.1\nacc: 0.2\nbye", 0.2),
    ("acc", "acc: 0.1 acc: 0.2", 0.2),
    ("rmse", "epoch 1 rmse=2.7e-01\nepoch 2 rmse=8.8e-07\n", 8.8e-07),
    ("acc", "acc: 0.1\nthe acc was fine\n", 0.1),
    ("loss", "loss: mse\nloss: 0.4\nloss function: l1", 0.4),
    # progress bars
    ("nll", "fit:  0%| nll=8.8\rfit: 50%| nll=3.1\rfit: 100%| nll=1.9\nend\rnll=1.7\n", 1.7),
    ("loss", "loss=0.3:  50%|#####     | 5/10", 0.3),
    # commas that end a number
    ("acc", "acc: 0.95, lr=3", 0.95),
    ("acc", "acc=0.71,", 0.71),
    ("acc", "acc=0.71,loss=1.2", 0.71),
    ("acc", "acc=0.71,\tlr 1", 0.71),
    ("lr", "acc=0.71,lr=.3", 0.3),
    ("acc", "final acc 0.95.", 0.95),
    ("acc", "(acc=0.95)", 0.95),
    ("acc", "[acc: 0.95]", 0.95),
    ("acc", "acc: 0.95; lr: 3", 0.95),
    ("acc", "acc 0.95|lr 3", 0.95),
    ("acc", "acc: 0.81 (+/- 0.03)", 0.81),
    ("acc", "acc: 0.81+/-0.03", 0.81),
    ("acc", "acc: 0.81\u00b10.03", 0.81),
    ("acc", "acc: 0.81(best)", 0.81),
    ("acc", "acc: 0.81*", 0.81),
    ("acc", "acc 0.31 / err 0.69", 0.31),
    # units
    ("acc", "acc: 97.5%", 97.5),
    ("acc", "acc: 97.5 % of all", 97.5),
    ("time", "time: 1.5 s", 1.5),
    ("speed", "speed: 12.5/s", 12.5),
    # signs and forms
    ("score", "score: -0.25", -0.25),
    ("score", "score -0.25", -0.25),
    ("score", "score=+.5e+1", 5.0),
    ("score", "score: 12", 12.0),
    # dictionaries, quotes, markdown, tables of two columns
    ("val_loss", '{"val_loss": 0.3, "step": 9}', 0.3),
    ("acc", "{'loss': 0.2, 'acc': 0.9}", 0.9),
    ("eval_loss", "{'eval_loss': '0.31', 'epoch': '3.0'}", 0.31),
    ("acc", "**acc**: 0.9", 0.9),
    ("acc", "**acc:** `0.9`", 0.9),
    ("acc", "- acc: **0.9**", 0.9),
    ("val_loss", "| val_loss | 0.31 |", 0.31),
    (
        "test_acc",
        "\u2502        test_acc           \u2502    0.97450000047     \u2502",
        0.97450000047,
    ),
    # array and tensor scalars
    ("loss", "loss: tensor(0.3)", 0.3),
    ("loss", "loss tensor(0.3000, device='cuda:0', grad_fn=<NllLossBackward0>)", 0.3),
    ("loss", "{'loss': np.float64(0.3), 'n': 3}", 0.3),
    ("loss", "loss: numpy.float32(3e-4)", 3e-4),
    ("loss", "loss: tensor([0.3])", 0.3),
    ("loss", "loss: [0.3]", 0.3),
    ("loss", "loss: [[0.3]]", 0.3),
    ("loss", "loss: (0.3)", 0.3),
    ("loss", "loss: Array(0.3, dtype=float32)", 0.3),
    ("loss", "loss tf.Tensor(0.3, shape=(), dtype=float32)", 0.3),
    ("loss", "{'loss': <tf.Tensor: shape=(), dtype=float32, numpy=0.3>}", 0.3),
    ("loss", "loss: Decimal('0.3')", 0.3),
    # whole names
    ("loss", "step 4 router_loss: 0.02 loss: 3.125 val_loss: 3.5\nval_loss: 3.4", 3.125),
    ("loss", "loss: 1.5\ntrain/loss: 1.2\nloss/val: 1.1\nopt.loss: 1.0\nz-loss: 0.9", 1.5),
    ("loss", "loss: 1.5\nloss_ema: 0.2\nloss-z: 0.1\nlosses: 9\nloss.x: 8\n--loss 3", 1.5),
    ("train/loss", "train/loss: 1.2 loss: 3", 1.2),
    ("Acc@1", "Acc@1: 75.25 ( 80.5) Acc@5: 92.1", 75.25),
    ("loss", "done...loss: 0.5", 0.5),
    ("loss", "INFO:root:loss=0.5", 0.5),
    ("val loss", "step 10: train loss 4.1, val loss 4.2", 4.2),
    ("val loss", "val   loss 4.2\nval_loss 9", 4.2),
    ("train loss", "step 10: train loss 4.1, val loss 4.2", 4.1),
    # a word before the name that makes it another quantity
    ("loss", "iter 9: loss 1.9\nstep 10: train loss 4.1, val loss 4.2", 1.9),
    ("loss", "loss: 1.9\nBest loss: 1.4\naverage loss: 1.6", 1.9),
    ("val_loss", "val_loss=0.6\nbest val_loss=0.4", 0.6),
    ("val loss", "val loss: 0.6\nbest val loss: 0.4", 0.6),
    ("val loss", "best val loss: 0.4", 0.4),
    ("loss", "val loss: 0.9\nval loss: 0.8", 0.8),
    ("loss", "train loss 4.1, val loss 4.2", 4.2),
    ("acc", "acc: 0.8\nfinal acc: 0.9", 0.9),
    ("auc", "[9]\ttraining's auc: 0.99\tvalid_0's auc: 0.93", 0.93),
    ("acc", "\u0130 acc: 0.7", 0.7),
    # letter case: as written first
    ("acc", "ACC: 0.7", 0.7),
    ("acc", "acc: 0.6\nAcc: 0.7", 0.6),
    ("test loss", "Test loss: 0.7", 0.7),
    ("loss", "val loss: 0.3\nLoss: 0.4", 0.4),
    # what known programs print
    (
        "val loss",
        "step 250: train loss 1.9654, val loss 2.0617\niter 250: loss 1.9, time 8ms",
        2.0617,
    ),
    ("loss", "iter 250: loss 1.9012, time 8.11ms, mfu 0.31%", 1.9012),
    ("test loss", "step 500 train loss: 2.31 test loss: 2.42", 2.42),
    (
        "val_accuracy",
        "Epoch 2/2\n\x1b[1m9/9\x1b[0m \x1b[32m\u2501\u2501\x1b[0m\x1b[37m\x1b[0m \x1b[1m0s\x1b[0m "
        "2ms/step - accuracy: 0.91 - loss: 0.29 - val_accuracy: 0.88 - val_loss: 0.33\n",
        0.88,
    ),
    (
        "accuracy",
        "9/9 [====] - 3s 2ms/step - loss: 0.29 - accuracy: 0.91 - val_accuracy: 0.8",
        0.91,
    ),
    (
        "valid-rmse",
        "[98]\ttrain-rmse:0.40\tvalid-rmse:0.42\n[99]\ttrain-rmse:0.39\tvalid-rmse:0.41",
        0.41,
    ),
    ("l2", "[100]\tvalid_0's l2: 0.21\tvalid_0's auc: 0.9", 0.21),
    ("valid_0's l2", "[100]\ttraining's l2: 0.1\tvalid_0's l2: 0.21", 0.21),
    (
        "eval_accuracy",
        "***** eval metrics *****\n  epoch         =   3.0\n  eval_accuracy = 0.8603\n",
        0.8603,
    ),
    ("val_loss", "Epoch 0: 100%|##| 5/5 [00:00<00:00, v_num=0, train_loss=0.3, val_loss=0.4]", 0.4),
    ("accuracy", "    accuracy                           0.97       360\n", 0.97),
    ("val_bpb", "---\nval_bpb:          0.997900\ntraining_seconds: 300.1\n", 0.9979),
    ("val_loss", "step:100/1390 val_loss:3.9042 train_time:123ms step_avg:95.1ms", 3.9042),
    ("loss", "step 00010/21400 (0.05%) | loss: 8.104 | grad norm: 0.3", 8.104),
    ("accuracy/top1", "Epoch(val) [1][10/10]  accuracy/top1: 45.30  data_time: 0.1", 45.3),
    ("loss", "Iteration 7, loss = 0.53219", 0.53219),
    # tables with the names in the header
    (
        "accuracy",
        "epoch     train_loss  valid_loss  accuracy  time    \n"
        "0         0.91        0.73        0.71      00:03     \n"
        "1         0.61        0.53        0.81      00:03     \n",
        0.81,
    ),
    ("loss", "| epoch | loss |\n|-------|------|\n| 1 | 0.5 |\n| 2 | 0.4 |\n", 0.4),
    ("loss", "epoch,loss,acc\n1,0.5,0.7\n2,0.4,0.8\n", 0.4),
    ("loss", "epoch loss\n1 0.5\nloss: 0.45\n", 0.45),
]

# The last value of the name is there, but is no finite number.
NON_FINITE = [
    ("val_loss", "step 10 val_loss=0.7\nstep 20 val_loss=nan"),
    ("loss", "loss: NaN"),
    ("loss", "loss -inf"),
    ("loss", "loss: Infinity, acc: 0.1"),
    ("loss", "loss: tensor(nan, device='cuda:0')"),
    ("loss", "loss: -nan(ind)"),
    ("loss", "loss: nan%"),
    ("loss", "'loss': nan}"),
    ("loss", "loss: 1e400"),
    ("loss", "loss: 0.5\nval loss: 0.6\nloss: nan"),
    ("loss", "epoch loss\n1 0.5\n2 nan\n"),
]

# The last value of the name looks like a number and is none that may be trusted.
UNREADABLE = [
    ("acc", "final acc: 0,87"),
    ("acc", "final acc: 3,204.51"),
    ("acc", "acc: 0.5\nacc: 0,87"),
    ("acc", "acc=0,87,loss=1"),
    ("acc", "acc: 1'204.5"),
    ("acc", "acc: 1\u202f204"),
    ("acc", "acc: 1_204"),
    ("acc", "acc: 1.2.3"),
    ("acc", "acc: 7/10"),
    ("acc", "acc: 7 / 10"),
    ("acc", "acc: 0x1f"),
    ("acc", "acc: 3k"),
    ("acc", "acc: 2.1M"),
    ("acc", "acc: 4.2e"),
    ("acc", "acc: 4.2e-"),
    ("acc", "acc: 1.#QNAN"),
    ("acc", "acc: 0.5-0.7"),
    ("acc", "acc: 0.5:0.7"),
    ("acc", "acc: 0.5,-0.7"),
    ("acc", "acc: (0.5, 0.7)"),
    ("acc", "acc: [0.5 0.7]"),
    ("acc", "acc: tensor([0.5, nan])"),
    ("acc", "acc: ~0.5"),
    ("acc", "acc: <0.5"),
    ("acc", "acc: \u22120.5"),
    ("acc", "acc: 0.5\nacc: None"),
    ("acc", "acc: 0.5\n{'acc': null}"),
    ("time", "time: 12:30:05"),
    ("time", "time 8ms"),
    ("acc", "acc: " + "9" * 500),
]

# The name never stands before a number.
ABSENT = [
    ("acc", ""),
    ("acc", "accuracy: 0.5"),
    ("rmse", "[99]\tvalid-rmse:0.41"),
    ("acc", "acc"),
    ("acc", "acc:\n0.5"),
    ("acc", "acc (3 runs): 0.5"),
    ("acc", "acc is 0.5"),
    ("acc", "stop when acc < 0.5"),
    ("acc", "acc information: none"),
    ("acc", "acc[3]: 0.5"),
    ("acc", "computing acc now\nstep 10 done"),
    ("acc", "acc loss\n---\nno rows 1 2\n"),
    ("val_loss", "val loss: 0.5"),
]


class TestFindMetric:
    @pytest.mark.parametrize(("name", "text", "value"), READ)
    def test_value(self, name: str, text: str, value: float) -> None:
        reading = metric(text, name)
        assert (reading.value, reading.reason) == (value, None)

    @pytest.mark.parametrize(("name", "text"), NON_FINITE)
    def test_non_finite(self, name: str, text: str) -> None:
        reading = metric(text, name)
        assert (reading.value, reading.reason) == (None, Reason.NON_FINITE)

    @pytest.mark.parametrize(("name", "text"), UNREADABLE)
    def test_unreadable(self, name: str, text: str) -> None:
        reading = metric(text, name)
        assert (reading.value, reading.reason) == (None, Reason.NO_METRIC)
        assert reading.count >= 1
        assert "not a plain number" in reading.detail

    @pytest.mark.parametrize(("name", "text"), ABSENT)
    def test_absent(self, name: str, text: str) -> None:
        reading = metric(text, name)
        assert (reading.value, reading.reason, reading.count) == (None, Reason.NO_METRIC, 0)

    def test_detail_quotes_the_line_with_its_number(self) -> None:
        reading = metric("start\nfinal acc: 0,87\nend", "acc")
        assert "line 2" in reading.detail
        assert "final acc: 0,87" in reading.detail
        assert reading.line == "final acc: 0,87"

    def test_detail_of_a_value_says_where_it_was_read(self) -> None:
        reading = metric("step 1: train loss 4.1, val loss 4.2", "loss")
        assert "line 1" in reading.detail
        assert "'val loss'" in reading.detail

    @pytest.mark.parametrize(
        ("name", "line"),
        [
            ("rmse", "[99]\tvalid-rmse:0.41"),
            ("val_loss", "train loss 4.1, val loss 4.2"),
            ("acc", "accuracy is fine"),
        ],
    )
    def test_detail_of_a_missing_name_shows_the_nearest_line(self, name: str, line: str) -> None:
        reading = metric(f"hello\n{line}\nbye", name)
        assert f"line 2: '{line}'" in reading.detail

    def test_detail_and_line_are_bounded_around_the_match(self) -> None:
        reading = metric("x " * 5000 + "acc: 0,87" + " y" * 5000, "acc")
        assert len(reading.detail) <= 240
        assert len(reading.line) <= 200
        assert "acc: 0,87" in reading.detail
        assert "acc: 0,87" in reading.line

    def test_count_is_the_number_of_lines(self) -> None:
        assert metric("acc: 1\nacc: 2 acc: 3\nACC: 4\nbest acc: 5\n", "acc").count == 2

    def test_a_killed_run_has_no_metric_but_a_partial_exponent_is_not_read(self) -> None:
        assert metric("acc: 0.5\nacc: 6.1e-", "acc").value is None


class TestPattern:
    @pytest.mark.parametrize(
        ("pattern", "text", "value"),
        [
            (r"^score is (\S+)$", "score is 0.5\nscore is 0.7\nbye", 0.7),
            (r"score is (\S+)", "score is 0.5 score is 0.7", 0.7),
            (r"acc on test: ([\d.]+)%", "acc on test: 81.5%", 81.5),
            (r"took (?:about )?([\d.]+)ms", "took about 12ms", 12.0),
            (r"^nll=(.*)$", "bar\rnll=3e-05\r\n", 3e-05),
            (r"R2 \((?P<value>.+?)\)", "R2 (0.25)", 0.25),
            (r"acc=([\d.]+)%?", "acc=81%", 81.0),
            (r"right: \d+/\d+ \((\d+)%\)", "right: 98/120 (82%)", 82.0),
            # an expression that takes the comma itself knows what it stands for
            (r"^\d+,([\d.]+)$", "epoch,acc\n9,0.4\n10,0.5", 0.5),
            (r"^([\d.]+),\d+$", "0.4,9\n0.5,10", 0.5),
        ],
    )
    def test_value(self, pattern: str, text: str, value: float) -> None:
        assert metric(text, "unused", pattern).value == value

    @pytest.mark.parametrize(
        ("pattern", "text", "reason"),
        [
            (r"acc=(\S+)", "loss=0.1", Reason.NO_METRIC),
            (r"acc=(\S+)", "acc=0.1\nacc=nan", Reason.NON_FINITE),
            (r"acc=(\S+)", "acc=0.1\nacc=0,2", Reason.NO_METRIC),
            (r"acc=(\S+)", "acc=good", Reason.NO_METRIC),
            (r"acc(?:=(\S+))?", "acc", Reason.NO_METRIC),
            # the group stops inside a number, or starts inside one
            (r"acc=([\d.]+)", "acc=4.2e-06", Reason.NO_METRIC),
            (r"acc=([\d.]+)", "acc=0,95", Reason.NO_METRIC),
            (r"acc=([\d.]+)", "acc=2,115.88", Reason.NO_METRIC),
            (r"acc=(\d+)", "acc=0.95", Reason.NO_METRIC),
            (r"([\d.]+)$", "acc=0,95", Reason.NO_METRIC),
            (r"acc.*([\d.]+)", "acc=0.95", Reason.NO_METRIC),
        ],
    )
    def test_no_value(self, pattern: str, text: str, reason: Reason) -> None:
        reading = metric(text, "unused", pattern)
        assert (reading.value, reading.reason) == (None, reason)
        assert pattern in reading.detail or text.splitlines()[-1] in reading.detail

    def test_count(self) -> None:
        assert metric("a 1\nb 2\na 3", "a", r"a (\d)").count == 2

    def test_only_the_end_of_a_very_long_line_is_searched(self) -> None:
        assert metric("z" * 200_000 + " a 1", "a", r".*a (\d)").value == 1.0

    @pytest.mark.parametrize(
        ("pattern", "message"),
        [
            ("acc=(", r"metric_pattern is 'acc=\('; not a regular expression: .*"),
            (r"acc=\d+", "has 0 groups; expected exactly one"),
            (r"(acc)=(\d+)", r"has 2 groups; expected exactly one.*\(\?:"),
        ],
    )
    def test_refused(self, pattern: str, message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            compile_metric_pattern(pattern)

    def test_refusal_names_the_setting(self) -> None:
        with pytest.raises(ConfigError, match=r"^params_pattern is "):
            compile_metric_pattern("(", key="params_pattern")

    def test_accepted(self) -> None:
        assert compile_metric_pattern(r"(?:a|b)=(\S+)").groups == 1


class TestMetricFile:
    def read(self, folder: Path, text: str, name: str) -> Reading:
        path = folder / "metrics.json"
        path.write_text(text, encoding="utf-8")
        return read_metric_file(path, name)

    @pytest.mark.parametrize(
        ("name", "text", "value"),
        [
            ("acc", '{"acc": 0.5, "n": 3}', 0.5),
            ("acc", '\ufeff{\n  "acc": 1e-3\n}\n', 0.001),
            ("acc", '{"acc": 7}', 7.0),
            ("eval.acc", '{"eval": {"acc": 0.5}, "acc": 0.1}', 0.5),
            ("eval.acc", '{"eval.acc": 0.4, "eval": {"acc": 0.5}}', 0.4),
            ("eval/acc", '{"eval/acc": 0.4}', 0.4),
            ("a.b.c", '{"a": {"b.c": 0.3}}', 0.3),
            ("acc", '{"acc": 0.1}\n{"acc": 0.2}\n', 0.2),
            ("acc", '{"acc": 0.1}\n{"acc": 0.2}\n{"loss": 3}\n', 0.2),
            ("acc", '{"acc": 0.1}\n\n{"acc": 0.2}\n{"acc": 0.', 0.2),
            ("acc", '[{"acc": 0.1}, {"acc": 0.2}, {"loss": 1}]', 0.2),
        ],
    )
    def test_value(self, tmp_path: Path, name: str, text: str, value: float) -> None:
        reading = self.read(tmp_path, text, name)
        assert (reading.value, reading.reason) == (value, None)

    @pytest.mark.parametrize(
        ("text", "reason", "words"),
        [
            ('{"acc": NaN}', Reason.NON_FINITE, "NaN"),
            ('{"acc": 0.5}\n{"acc": -Infinity}', Reason.NON_FINITE, "Infinity"),
            ('{"acc": 1e999}', Reason.NON_FINITE, "Infinity"),
            ('{"acc": 1' + "0" * 400 + "}", Reason.NON_FINITE, "acc"),
            ('{"acc": "0.5"}', Reason.NO_METRIC, '"0.5"'),
            ('{"acc": true}', Reason.NO_METRIC, "true"),
            ('{"acc": null}', Reason.NO_METRIC, "null"),
            ('{"acc": 0.1}\n{"acc": null}', Reason.NO_METRIC, "null"),
            ('{"acc": {"top1": 0.5}}', Reason.NO_METRIC, "acc.top1"),
            ('{"accuracy": 0.5, "eval": {"loss": 1}}', Reason.NO_METRIC, "accuracy, eval.loss"),
            ("acc: 0.5", Reason.NO_METRIC, "JSON"),
            ("", Reason.NO_METRIC, "empty"),
            ('{"acc": 0.5', Reason.NO_METRIC, "JSON"),
            ("3", Reason.NO_METRIC, "JSON"),
            ("[" * 100_000, Reason.NO_METRIC, "JSON"),
        ],
    )
    def test_no_value(self, tmp_path: Path, text: str, reason: Reason, words: str) -> None:
        reading = self.read(tmp_path, text, "acc")
        assert (reading.value, reading.reason) == (None, reason)
        assert words in reading.detail
        assert "metrics.json" in reading.detail
        assert len(reading.detail) <= 300

    def test_missing_file(self, tmp_path: Path) -> None:
        reading = read_metric_file(tmp_path / "out.json", "acc")
        assert reading.reason is Reason.NO_METRIC
        assert "out.json was not written" in reading.detail

    def test_folder_instead_of_a_file(self, tmp_path: Path) -> None:
        assert read_metric_file(tmp_path, "acc").reason is Reason.NO_METRIC

    def test_count_is_the_number_of_records_that_hold_it(self, tmp_path: Path) -> None:
        assert self.read(tmp_path, '{"acc": 1}\n{"n": 1}\n{"acc": 2}\n', "acc").count == 2

    def test_of_a_huge_file_the_end_is_read(self, tmp_path: Path) -> None:
        path = tmp_path / "log.jsonl"
        with path.open("wb") as file:
            file.write(b'{"acc": 0.1}\n' + b'{"early": "')
            file.seek(TAIL_BYTES + 100)
            file.write(b'"}\n{"acc": 0.9}\n')
        reading = read_metric_file(path, "acc")
        assert (reading.value, reading.count) == (0.9, 1)

    def test_a_huge_single_object_is_said_to_be_too_large(self, tmp_path: Path) -> None:
        path = tmp_path / "one.json"
        with path.open("wb") as file:
            file.seek(TAIL_BYTES + 100)
            file.write(b'"acc": 0.9}')
        assert "16 MiB" in read_metric_file(path, "acc").detail


PARAMS = [
    ("number of parameters: 0.80M", 800_000),
    (
        "number of parameters: 124.44M\nnum decayed parameter tensors: 10, with 800,000 parameters",
        124_440_000,
    ),
    ("params: 610", 610),
    ("Params = 610", 610),
    ("num_params=12_345", 12_345),
    ("n_params 4521", 4521),
    ("total trainable parameters: 1,234,567", 1_234_567),
    ("model #params: 11234", 11_234),
    ("12.3M params", 12_300_000),
    ("a model with 11,234 parameters was built", 11_234),
    ("Model resnet created, param count:25557032", 25_557_032),
    ("Trainable params: 1.2 M", 1_200_000),
    (
        "Total params: 9,000 (1.00 KB)\n Trainable params: 7,850 (30.66 KB)\n"
        " Non-trainable params: 1,150 (3 KB)\n Optimizer params: 2",
        7_850,
    ),
    (
        "7.9 K     Trainable params\n10        Non-trainable params\n"
        "7.9 K     Total params\n0.031     Total estimated model params size (MB)",
        7_900,
    ),
    (
        "Total params: 7,850\nTrainable params: 7,850\n"
        "Non-trainable params: 0\nParams size (MB): 0.03",
        7_850,
    ),
    ("trainable params: 294,912 || all params: 124,734,720 || trainable%: 0.2364", 294_912),
    ("num_params_M:     50.3\nval_bpb: 0.99", 50_300_000),
    ("number of params (M): 85.80", 85_800_000),
    ("params: 1.5B", 1_500_000_000),
    ("| params | 610 |", 610),
    ("params: 100\nparams: 200", 200),
    ("parameters: 12k", 12_000),
    ("params: 1e6", 1_000_000),
    ("{'params': 610, 'loss': 0.3}", 610),
    ("params: 610, loss: 0.3", 610),
    ("params: 610.", 610),
    ("Trainable params: 0", 0),
    ("trainable parameters: 500\nparams: 900", 500),
]

NO_PARAMS = [
    "",
    "loss: 0.3",
    "Non-trainable params: 55",
    "non trainable parameters: 55",
    "Optimizer params: 2",
    "Params size (MB): 0.03",
    "params: {'lr': 0.1}",
    "params: 0.5,0.9",
    "hyperparams: 5",
    "params: 3/10",
    "params: nan",
    "params: 1,23,456",
    "params: " + "9" * 400,
    "frozen params: 12",
]


class TestFindParams:
    @pytest.mark.parametrize(("text", "count"), PARAMS)
    def test_count(self, text: str, count: int) -> None:
        assert find_params(text.encode(), None) == count

    @pytest.mark.parametrize("text", NO_PARAMS)
    def test_none(self, text: str) -> None:
        assert find_params(text.encode(), None) is None

    @pytest.mark.parametrize(
        ("pattern", "text", "count"),
        [
            (r"size: (\S+)", "size: 1,234\nsize: 2,345", 2345),
            (r"size: ([\d.]+)M", "size: 1.5M", 1_500_000),
            (r"size: ([\d.]+)", "size: 1.5 K weights", 1500),
            (r"size: ([\d]+)", "params: 3", None),
            (r"size: (\w+)", "size: big", None),
        ],
    )
    def test_pattern(self, pattern: str, text: str, count: int | None) -> None:
        assert find_params(text.encode(), pattern) == count

    def test_bad_pattern(self) -> None:
        with pytest.raises(ConfigError, match="params_pattern"):
            find_params(b"", "(")


LONG_LINES = [
    "1," * 500_000,
    "9" * 1_000_000,
    "acc" + " " * 1_000_000,
    "acc " * 20_000,
    "acc: " * 20_000,
    "acc: " + "9" * 1_000_000,
    "acc: " + "(" * 1_000_000,
    "acc: " + '"' * 1_000_000,
    "acc: 1" + " " * 1_000_000 + "2",
    "params " * 30_000,
    "params" + " " * 1_000_000,
    "1,111" * 200_000,
    "\x1b[" * 100_000,
    "\x1b]" + "0" * 1_000_000,
    "\r" * 200_000,
    "\b" * 200_000,
    "nan " * 60_000,
    "= " * 500_000,
]


class TestLongLines:
    """These return at all: no pattern may need time that grows with the square of a line."""

    @pytest.mark.parametrize("line", LONG_LINES, ids=range(len(LONG_LINES)))
    def test_end_is_still_read(self, line: str) -> None:
        raw = f"{line}\nval acc: 0.5\nacc: 0.25\nparams: 17\n".encode()
        assert find_metric(raw, "acc").value == 0.25
        assert find_params(raw, None) == 17

    def test_large_json_line(self) -> None:
        line = json.dumps([{"acc": i / 7} for i in range(8_000)])
        assert metric(line, "acc").value == 7_999 / 7
