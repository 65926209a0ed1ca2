"""Every number about its own quality that a program reports, and how it reports it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from lae_controller.bindings.printed import Hole, Printed
from lae_controller.bindings.project import Project, dotted_name, line_of, literal
from lae_controller.bindings.settings import Setting

_LESS = frozenset(
    """loss losses err error errors rmse mse mae mape rmsle msle ppl perplexity bpb bpc bpd nll
    logloss ce xent entropy fid wer cer eer ter mer kl brier regret cost mre smape wape""".split()
)
_MORE = frozenset(
    """acc accs accuracy accuracies accu f1 f1score fscore auc auroc roc auprc map ap r2 bleu rouge
    iou miou dice psnr ssim reward return returns score scores top1 top5 acc1 acc5 prec prec1 ndcg
    recall precision mrr hits kappa mcc pearson spearman correlation elbo fitness winrate elo
    matthews jaccard sharpe map50""".split()
)
_PHASES = {
    "val": frozenset("val valid validation dev eval evaluation heldout holdout cv".split()),
    "test": frozenset("test testing tst".split()),
    "train": frozenset("train training running batch tr".split()),
}
NUMBER = r"([-+]?(?:\d*\.?\d+(?:[eE][-+]?\d+)?|nan|inf))"
"""What a proposed pattern captures; also nan and inf, or an earlier number would stand in."""
_MONITORS = frozenset("monitor optimized_metric metric_for_best_model eval_metric".split())
_TRACKERS = frozenset("log log_dict log_metric log_metrics add_scalar add_scalars".split())


@dataclass(frozen=True, slots=True)
class Candidate:
    """One number that the program reports.

    Attributes:
        name: as it is printed.
        word: what it measures, such as ``loss``.
        phase: ``val``, ``test``, ``train`` or nothing.
        channel: how it is reported: ``print``, ``text``, ``json``, ``bar``, ``monitor`` or
            ``tracker``.
        pattern: the regular expression that finds it; None if the name alone does.
        line: the pattern with everything printed before it on its line.
        file: the JSON file it is written to; None if it is printed.
    """

    name: str
    word: str
    phase: str
    channel: str
    where: str
    pattern: str | None = None
    line: str | None = None
    file: str | None = None

    @property
    def direction(self) -> str:
        """``minimize`` or ``maximize``, by what is measured."""
        return "minimize" if self.word in _LESS else "maximize"


def direction_of(metric: str) -> str | None:
    """Return ``minimize`` or ``maximize`` by the name of a metric; None if it does not say."""
    word = _word(metric)
    if word is None:
        return None
    return "minimize" if word in _LESS else "maximize"


def tokens_of(text: str) -> frozenset[str]:
    """Return the words of a text or a name in lower case; ``Acc@1`` counts as ``acc1``."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    return frozenset(re.findall(r"[a-z]+\d*", spaced.replace("@", "").lower()))


def _word(text: str) -> str | None:
    """Return the last word in ``text`` that names something measured."""
    plain = text.replace("@", "")
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", plain)
    for spelled in (spaced, plain):  # valLoss is two words, mIoU is one
        words: list[str] = re.findall(r"[a-z]+\d*", spelled.lower())
        hits = [word for word in words if word in _LESS or word in _MORE]
        if hits:
            return hits[-1]
    return None


def _phase(*texts: str) -> str:
    """Return the phase of the first text that names one."""
    for text in texts:
        tokens = tokens_of(text)
        for phase, words in _PHASES.items():
            if tokens & words:
                return phase
    return ""


def reported(project: Project, path: str) -> Iterator[Candidate]:
    """Yield what a file reports other than in a format string of its own."""
    text = project.text(path)
    lightning = "LightningModule" in text
    for node, around in project.sites(path):
        if isinstance(node, ast.Call):
            for candidate in _recorded(project, path, node, around):
                yield _in_table(candidate) if lightning else candidate
            yield from _meter(path, node, around)
            yield from _watched(path, node)
            yield from _keras(path, text, node, around)
            if "transformers" in text:
                yield from _hf_trainer(path, node)


def monitored(setting: Setting) -> Iterator[Candidate]:
    """Read a setting such as ``monitor: min val_loss``."""
    if setting.name in _MONITORS and isinstance(setting.default, str):
        name = re.sub(r"^(min|max)\s+", "", setting.default)
        yield from _named(name, "monitor", setting.where, (), None)


def _watched(path: str, call: ast.Call) -> Iterator[Candidate]:
    """Read ``ModelCheckpoint(monitor="val/acc")``."""
    for word in call.keywords:
        if word.arg in _MONITORS and isinstance(name := literal(word.value), str):
            yield from _named(name, "monitor", f"{path}:{call.lineno}", (), None)


def _in_table(candidate: Candidate) -> Candidate:
    """Count a test metric of a LightningModule as printed: ``trainer.test`` prints a table."""
    if candidate.phase != "test":
        return candidate
    return replace(candidate, channel="print")


def in_text(printed: Printed) -> Iterator[Candidate]:
    """Yield the numbers in a printed text."""
    line, since = "", ""
    for index, piece in enumerate(printed.pieces):
        if isinstance(piece, str):
            line = (line + piece).rsplit("\n", 1)[-1].rsplit("\r", 1)[-1]
            since = (since + piece).rsplit("\n", 1)[-1].rsplit("\r", 1)[-1]
            continue
        if piece.spec == "s" or not piece.spec.endswith(("d", "s")):
            found = _at_hole(printed, index, piece, line, since)
            if found is not None:
                yield found
        line, since = line + "\0", ""


_CUT = re.compile(r"[,|;()\[\]{}<>\t*\u2022]+|:\s|\s[-\u2013\u2014]\s|\s{2,}|--+|==+|\s#\s")
_LABEL_END = re.compile(r"""["'`*]{0,3}(?:\s*[:=]\s*|\s+)["'`*]{0,3}$""")
"""What may stand between a name and its number without a pattern for it."""
_VERB = re.compile(r"\s+(?:is|was|of|on|at|reached|=)$")


def _at_hole(printed: Printed, index: int, hole: Hole, line: str, since: str) -> Candidate | None:
    """Read the number at a hole: its label is the text before it, since the last hole."""
    bare = _LABEL_END.sub("", since)
    cut = _CUT.split(bare)[-1]
    label = _VERB.sub("", cut.strip(" -=>.:'\"#").lstrip("0123456789. "))
    if _NO_REPORT.search(label.lower()):
        return None
    word = _label_word(label)
    plain = word is not None and bare.endswith(label) and bare != since
    if word is None:
        word, label = _label_word(hole.name), hole.name
    if word is None:
        return None
    phase = _phase(label, line, hole.name, *reversed(printed.around))
    number = _percent_after(printed, index) or NUMBER
    before = since[since.rindex(label) :] if label in since else since
    whole = pattern_of(line) + number
    short = pattern_of(before) + number if len(before.strip()) > 2 else whole
    pattern = None if plain and number == NUMBER else short
    return Candidate(label, word, phase, printed.channel, printed.where, pattern, whole)


_NO_REPORT = re.compile(
    r"\.\.\.|&|mixed|^(?:invalid|unknown|unsupported|unexpected|wrong|using|no)\b"
)
_AFTER_WORD = frozenset("rate value avg mean average total epoch set".split())


def _label_word(label: str) -> str | None:
    """Return what a label measures; None unless it is short and ends in such a word."""
    words = label.replace("_", " ").replace("/", " ").split()
    if not 0 < len(words) <= 5 or len(label) > 40:
        return None
    if _word(words[-1]) is None and len(words) > 1:
        last = words[-1].lower()
        if len(last) > 2 and last not in _AFTER_WORD and not _phase(last):
            return None
        return _word(words[-2])
    return _word(words[-1])


def pattern_of(text: str) -> str:
    """Return a regular expression for a printed text whose holes are NUL characters."""
    parts = [
        r"\s+".join(re.escape(word) for word in re.split(r"\s+", part)) for part in text.split("\0")
    ]
    return ".*?".join(parts).removeprefix(r"\s+").removeprefix(".*?")


def _percent_after(printed: Printed, index: int) -> str | None:
    """Return a pattern for ``90/100 (90%)``: there the second number is meant."""
    rest = printed.pieces[index + 1 : index + 5]
    if len(rest) < 4 or rest[0] != "/" or not isinstance(rest[2], str):
        return None
    if not re.fullmatch(r"\s*\(", rest[2]) or not str(rest[4:5] or "%").startswith(("%", "('%")):
        return None
    return r"\d+/\d+\s*\(" + NUMBER


def _recorded(
    project: Project, path: str, call: ast.Call, around: tuple[str, ...]
) -> Iterator[Candidate]:
    """Find what goes to a tracker (wandb, MLflow, TensorBoard, Lightning) or a JSON file."""
    name = dotted_name(call.func)
    short = name.rsplit(".", 1)[-1]
    where = f"{path}:{call.lineno}"
    if name in ("json.dump", "json.dumps") and call.args:
        file = _json_file(project, path, call, around)
        if file is not None:
            for key in _keys(project, path, call.args[0], around):
                yield from _named(key, "json", where, around, file)
    elif short in _TRACKERS and "." in name and call.args:
        first = literal(call.args[0])
        keys = [first] if isinstance(first, str) else _keys(project, path, call.args[0], around)
        for key in keys:
            if "%" not in key and " " not in key.strip():
                yield from _named(key, "tracker", where, around, None)


def _named(
    key: str, channel: str, where: str, around: tuple[str, ...], file: str | None
) -> Iterator[Candidate]:
    word = _word(key)
    if word is not None:
        yield Candidate(key, word, _phase(key, *reversed(around)), channel, where, file=file)


def _keys(project: Project, path: str, value: ast.expr, around: tuple[str, ...]) -> list[str]:
    """Return the string keys of a dict literal, or of the dict that a name stands for."""
    if isinstance(value, ast.Dict):
        return [key for node in value.keys if isinstance(key := literal(node), str)]
    if not isinstance(value, ast.Name):
        return []
    found: list[str] = []
    for node, place in project.sites(path):
        if place == around and isinstance(node, ast.Assign):
            found += [key for target in node.targets for key in _bound(target, value.id, node)]
    return found


def _bound(target: ast.expr, name: str, node: ast.Assign) -> list[str]:
    """Return the keys that ``name = {...}`` or ``name["key"] = ...`` sets."""
    if isinstance(target, ast.Name) and target.id == name and isinstance(node.value, ast.Dict):
        return [key for part in node.value.keys if isinstance(key := literal(part), str)]
    if isinstance(target, ast.Subscript) and dotted_name(target.value) == name:
        key = literal(target.slice)
        return [key] if isinstance(key, str) else []
    return []


def _json_file(project: Project, path: str, call: ast.Call, around: tuple[str, ...]) -> str | None:
    """Return the name of the JSON file that is opened just before or around a dump."""
    names: list[str] = []
    for node, place in project.sites(path):
        if place == around and -4 <= line_of(node) - call.lineno <= 1:
            for inner in ast.walk(node) if isinstance(node, ast.Call | ast.Assign) else ():
                text = literal(inner)
                if isinstance(text, str) and re.fullmatch(r"[\w./-]+\.jsonl?", text):
                    names.append(text)
    return names[-1] if names else None


def _meter(path: str, call: ast.Call, around: tuple[str, ...]) -> Iterator[Candidate]:
    """Read ``AverageMeter("Acc@1", ":6.2f")``, which prints its own name."""
    first = literal(call.args[0]) if call.args else ...
    if dotted_name(call.func).endswith("Meter") and isinstance(first, str):
        yield from _named(first, "text", f"{path}:{call.lineno}", around, None)


def _keras(path: str, text: str, call: ast.Call, around: tuple[str, ...]) -> Iterator[Candidate]:
    """Add what ``model.fit`` of Keras prints by itself."""
    validated = {word.arg for word in call.keywords} & {"validation_data", "validation_split"}
    if "keras" in text and validated and dotted_name(call.func).endswith(".fit"):
        where = f"{path}:{call.lineno}"
        yield from _named("val_loss", "print", where, around, None)
        if re.search(r"metrics\s*=\s*\[[^\]]*acc", text):
            yield from _named("val_accuracy", "print", where, around, None)


def _hf_trainer(path: str, call: ast.Call) -> Iterator[Candidate]:
    """Add what the Trainer of transformers logs when it is given data to evaluate on."""
    evaluated = any(
        word.arg == "eval_dataset" and literal(word.value) is not None for word in call.keywords
    )
    if evaluated and dotted_name(call.func).endswith("Trainer"):
        yield from _named("eval_loss", "print", f"{path}:{call.lineno}", (), None)
