"""Everything that could be said about one task, put together as far as there is room."""

from __future__ import annotations

from collections.abc import Mapping

from lae_controller.prompts import sections
from lae_controller.prompts.code import show_files
from lae_controller.prompts.examples import example_turns, question
from lae_controller.prompts.fit import Levels, dropped, fit
from lae_controller.prompts.ideas import idea_for
from lae_controller.prompts.repairs import remarks, repair_turns
from lae_controller.prompts.role import Form, system_text
from lae_controller.prompts.turns import Prompt, Turn
from lae_controller.task import Failure, Task


class Draft:
    """One task, with the parts of its prompt in all their versions.

    Attributes:
        task: what the prompt is about.
        code: each file as it would be shown, by path.
    """

    def __init__(self, task: Task, form: Form) -> None:
        self.task = task
        self._form = form
        titled = len(task.files) > 1 or form is not Form.DIFF
        whole = task.whole_files or form is Form.FILES
        self.code = show_files(task.files, titled=titled, whole=whole)
        self._system = system_text(task, form)
        self._examples: tuple[Turn, ...] = ()
        if form is not Form.AGENT:
            self._examples = example_turns(form, titled=titled, promise=task.promise)
        self._idea = idea_for(task)
        self._told = sections.of(task)
        self._attempts = [task.failures, task.failures[-1:]] if task.failures else []
        self._versions = {name: len(texts) for name, texts in self._told.items()}
        self._versions["examples"] = 1 if self._examples else 0
        self._versions["earlier attempts"] = len(self._attempts)

    def fitted(self, token_limit: int) -> Levels:
        """Return what must give way so that the prompt with all code keeps to the limit."""
        return fit(
            self._versions, lambda levels: self.prompt(levels, self.code).tokens, token_limit
        )

    def prompt(self, levels: Levels, code: Mapping[str, str]) -> Prompt:
        """Return the prompt with these versions of its parts and this code."""
        left_out = [*dropped(self._versions, levels), *self._files_left_out(code)]
        asked = question("\n\n".join(code.values()), self._about(levels, left_out), self._idea)
        failures = self._failures(levels)
        if self._form is Form.AGENT:  # which does not see its earlier conversations
            asked = "\n\n".join([asked, *remarks(failures)])
            return Prompt(self._system, (Turn("user", asked),), tuple(left_out))
        examples = () if levels["examples"] else self._examples
        turns = (*examples, *repair_turns(failures, asked))
        return Prompt(self._system, turns, tuple(left_out))

    def _failures(self, levels: Levels) -> tuple[Failure, ...]:
        level = levels["earlier attempts"]
        return self._attempts[level] if level < len(self._attempts) else ()

    def _about(self, levels: Levels, left_out: list[str]) -> str:
        """Return what stands between the code and the request."""
        chosen = [
            texts[levels[name]] for name, texts in self._told.items() if levels[name] < len(texts)
        ]
        if left_out:
            chosen.append(f"For want of room here: {', '.join(left_out)}.")
        return "\n\n".join(chosen)

    def _files_left_out(self, code: Mapping[str, str]) -> list[str]:
        """Name the files that are not shown, with their lengths."""
        files = self.task.files
        return [
            f"{path} ({len(files[path].splitlines())} lines) left out"
            for path in sorted(files)
            if path not in code
        ]
