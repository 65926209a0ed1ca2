from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from lae_controller.bindings.candidates import direction_of
from lae_controller.bindings.metric import find_metric
from lae_controller.bindings.project import scan
from lae_controller.bindings.proposal import Suggestion
from lae_controller.bindings.settings import Setting, Way
from lae_controller.outputs.metric import find_metric as read_output

Build = Callable[[dict[str, str]], Path]


def found(root: Path, *settings: Setting) -> dict[str, Suggestion]:
    result = find_metric(scan(root), ("train.py",), settings)
    return {one.key: one for one in result.suggestions}


def metric(build: Build, code: str) -> dict[str, Suggestion]:
    return found(build({"train.py": code + "\n"}))


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("print(f'step {i}: train loss {a:.4f}, val loss {b:.4f}')", "val loss"),
        ("print('val_loss: {:.4f}'.format(v))", "val_loss"),
        ("print('val_loss: {v:.4f}'.format(v=v))", "val_loss"),
        ("print('val_loss=%.4f' % v)", "val_loss"),
        ("print('epoch %d val_loss %.4f' % (e, v))", "val_loss"),
        ("print('val_loss:', v)", "val_loss"),
        ("print('val_' + f'loss: {v}')", "val_loss"),
        ("print(f'{val_loss=}')", "val_loss"),
        ("log.info('test accuracy: %.2f', a)", "test accuracy"),
        ("logging.info(f'Test accuracy: {a:.2%}')", "Test accuracy"),
        ("click.echo(f'dev F1 = {f}')", "dev F1"),
        ("tqdm.write(f'valid/rmse: {r}')", "valid/rmse"),
        ("line = f'val ppl {p}'\nprint(line)", "val ppl"),
        ("print({'val_loss': v})", "val_loss"),
        ("print(json.dumps({'val_loss': v}))", "val_loss"),
        ("def evaluate():\n    print(f'accuracy: {a}')", "accuracy"),
        ("model.fit(x, y, validation_data=z)  # keras", "val_loss"),
    ],
)
def test_reads_what_is_printed(build: Build, code: str, name: str) -> None:
    result = metric(build, code)
    assert result["metric"].value == name
    assert "metric_pattern" not in result


@pytest.mark.parametrize(
    ("code", "name", "printed"),
    [
        (
            "def test():\n  print('Accuracy: {}/{} ({:.0f}%)'.format(c, n, p))",
            "Accuracy",
            "Accuracy: 91/100 (91%)",
        ),
        (
            "print(f'Accuracy on the {n} test images: {test_acc:.1f}')",
            "test_acc",
            "Accuracy on the 100 test images: 91.0",
        ),
        ("print('best val loss is', v)", "best val loss", "best val loss is 91"),
    ],
)
def test_a_pattern_is_given_where_the_name_does_not_find_it(
    build: Build, code: str, name: str, printed: str
) -> None:
    result = metric(build, code)
    assert result["metric"].value == name
    pattern = str(result["metric_pattern"].value)
    assert read_output(printed.encode(), name, pattern=pattern).value == 91


@pytest.mark.parametrize("value", ["0.5", "-3", "1e-05", ".25", "nan", "inf"])
def test_the_pattern_reads_every_number_and_what_is_none(build: Build, value: object) -> None:
    result = metric(build, "print(f'val loss is {v}')")
    pattern = str(result["metric_pattern"].value)
    assert re.findall(pattern, f"val loss is {value}") == [value]


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        ("print(f'step {i} | val loss {v:.4f}')", "step 3 | val loss 0.2500"),
        ("print({'val_loss': v})", "{'val_loss': 0.25}"),
        ("print(json.dumps({'val_loss': v}))", '{"val_loss": 0.25}'),
        (
            "class Net(LightningModule):\n  def test_step(self):\n    self.log('test/loss', a)",
            "\u2502        test/loss         \u2502    0.25    \u2502",
        ),
        ("transformers.Trainer(eval_dataset=d)", "{'eval_loss': 0.25, 'epoch': 1.0}"),
    ],
)
def test_the_name_alone_finds_what_is_printed(build: Build, code: str, printed: str) -> None:
    result = metric(build, code)
    assert "metric_pattern" not in result
    assert read_output(printed.encode(), str(result["metric"].value)).value == 0.25


def test_two_lines_with_one_name_are_told_apart(build: Build) -> None:
    code = (
        "def train():\n    print(f'train | loss: {a}')\n"
        "def validate():\n    print(f'valid | loss: {b}')\n"
    )
    pattern = str(metric(build, code)["metric_pattern"].value)
    assert re.search(pattern, "valid | loss: 0.5")
    assert not re.search(pattern, "train | loss: 0.5")


@pytest.mark.parametrize(
    ("first", "second", "better"),
    [
        ("test loss", "val loss", "val loss"),
        ("train accuracy", "test loss", "test loss"),
        ("train loss", "loss", "loss"),
        ("best val loss", "val loss", "val loss"),
        ("val loss", "val accuracy", "val accuracy"),
    ],
)
def test_prefers_data_that_was_not_trained_on(
    build: Build, first: str, second: str, better: str
) -> None:
    result = metric(build, f"print(f'{first}: {{a}}')\nprint(f'{second}: {{b}}')")
    assert result["metric"].value == better
    assert set(result["metric"].alternatives) == {first, second} - {better}


def test_the_readme_tips_the_scale(build: Build) -> None:
    code = "print(f'val loss: {a}, val accuracy: {b}')\n"
    root = build({"train.py": code, "README.md": "We report the validation loss.\n"})
    assert found(root)["metric"].value == "val loss"


@pytest.mark.parametrize(
    ("code", "certain"),
    [
        ("print(f'val loss: {a}')", True),
        ("print(f'val loss: {a}, val acc: {b}')", False),
        ("print(f'loss: {a}')", False),
        ("print(f'train loss: {a}')", False),
        ("wandb.log({'val/loss': a})", False),
    ],
)
def test_is_certain_only_of_the_one_number_on_held_out_data(
    build: Build, code: str, certain: bool
) -> None:
    result = metric(build, code)
    assert result["metric"].certain is certain
    assert result["metric_direction"].certain is certain


def test_says_that_a_tracker_does_not_print(build: Build) -> None:
    assert "perhaps never printed" in metric(build, "wandb.log({'val/loss': a})")["metric"].reason


def test_what_is_printed_goes_before_what_is_tracked(build: Build) -> None:
    code = "wandb.log({'val/acc': a})\nprint(f'test acc {a}')"
    assert metric(build, code)["metric"].value == "test acc"


def test_a_progress_bar_is_better_than_nothing(build: Build) -> None:
    result = metric(build, "bar.set_postfix(val_loss=v)")
    assert result["metric"].value == "val_loss"
    assert "progress bar" in result["metric"].reason


@pytest.mark.parametrize(
    "code",
    [
        "with open('metrics.json', 'w') as f:\n    json.dump({'val_acc': a}, f)",
        "out = {}\nout['val_acc'] = a\nPath('metrics.json').write_text(json.dumps(out))",
        "out = {'val_acc': a}\njson.dump(out, open('metrics.json', 'w'))",
    ],
)
def test_a_metric_that_is_only_written_gets_its_file(build: Build, code: str) -> None:
    result = metric(build, code)
    assert result["metric"].value == "val_acc"
    assert result["metric_file"].value == "metrics.json"


def test_a_printed_metric_needs_no_file(build: Build) -> None:
    code = "print(f'val_acc: {a}')\njson.dump({'val_acc': a}, open('m.json', 'w'))"
    assert "metric_file" not in metric(build, code)


def test_lightning_prints_its_test_metrics(build: Build) -> None:
    code = (
        "class Net(LightningModule):\n"
        "    def validation_step(self):\n        self.log('val/acc', a)\n"
        "    def test_step(self: str) -> None:\n        self.log('test/acc', a)\n"
    )
    result = metric(build, code)
    assert result["metric"].value == "test/acc"
    assert "val/acc" in result["metric"].alternatives


@pytest.mark.parametrize("text", ["min val_loss", "val_loss"])
def test_a_monitored_metric_is_a_hint(build: Build, text: str) -> None:
    setting = Setting("monitor", Way.CONFIG, "c.yaml:monitor", text, "c.yaml:monitor")
    result = found(build({"train.py": "print(f'train loss {a}')\n"}), setting)
    assert result["metric"].value == "val_loss"
    assert "c.yaml:monitor" in result["metric"].reason


def test_a_meter_prints_its_own_name(build: Build) -> None:
    code = "def validate():\n    top = AverageMeter('Acc@1', ':6.2f')"
    assert metric(build, code)["metric"].value == "Acc@1"


@pytest.mark.parametrize(
    "code",
    [
        "print(f'epoch {e} of {n}')",
        "print(f'took {seconds:.1f} s')",
        "print(f'using mixed precision {flag}')",
        "raise ValueError(f'unknown loss: {name}')",
        "warnings.warn(f'bad accuracy: {a}')",
        "print(f'correct accuracy {n:d}')",
        "print('loss')",
        "assert iou, f'Invalid IoU {iou}'",
        "print(f'using loss {name}')",
        "x = math.log(loss)",
        "print('%d %q' % loss)",
        "print('{'.format(loss))",
    ],
)
def test_other_numbers_are_no_metric(build: Build, code: str) -> None:
    result = metric(build, code)
    assert result["metric"].value is None
    assert result["metric_direction"].value is None


def test_a_very_long_sum_of_texts_is_read(build: Build) -> None:
    code = "print(" + " + ".join(["'x'"] * 300) + " + f'val loss {v}')"
    assert metric(build, code)["metric"].value is None
    code = "print(" + " + ".join(["'x'"] * 300) + " + f', val loss {v}')"
    assert metric(build, code)["metric"].value == "val loss"


@pytest.mark.parametrize(
    ("name", "direction"),
    [
        ("val_loss", "minimize"),
        ("RMSE", "minimize"),
        ("valPerplexity", "minimize"),
        ("test bpb", "minimize"),
        ("error rate", "minimize"),
        ("Acc@1", "maximize"),
        ("macro-F1", "maximize"),
        ("R2", "maximize"),
        ("mIoU", "maximize"),
        ("episodic_return", "maximize"),
        ("height", None),
    ],
)
def test_the_name_says_the_direction(name: str, direction: str | None) -> None:
    assert direction_of(name) == direction
