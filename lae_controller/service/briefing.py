"""What a Mutator is told of a served experiment beside the program that it is to change."""

from __future__ import annotations

from lae_controller.prompts.code import show_files
from lae_controller.service.book import Book
from lae_controller.service.content import Content
from lae_controller.service.experiment_config import ExperimentConfig

_OTHER_FILES = 100_000
"""Characters of files that do not change, at most; the rest is named only."""


def briefing(book: Book) -> str:
    """Return problem, language, descriptions of files, and the caller's own context.

    Files without evolve blocks are shown where the experiment asks for whole programs.
    """
    config, content = book.config, book.seed
    parts = [config.problem, f"The program is written in {config.language}."]
    if content is not None:
        parts += [_described(content), _others(content, config)]
    parts.append(config.context)
    return "\n\n".join(part.strip() for part in parts if part.strip())


def _described(content: Content) -> str:
    lines = [f"- {file.path}: {file.description}" for file in content.files if file.description]
    if content.description:
        lines.insert(0, content.description)
    return "\n".join(lines)


def _others(content: Content, config: ExperimentConfig) -> str:
    evolved = content.evolved
    others = {file.path: file.content for file in content.files if file.path not in evolved}
    if not others or not config.full_program:
        return ""
    shown, size = [], 0
    for path, text in show_files(others, titled=True, whole=True).items():
        size += len(text)
        shown.append(text if size <= _OTHER_FILES else f"{path} (left out here)")
    return "\n\n".join(["These files of the program stay as they are:", *shown])
