"""A task as a prompt: for a model that answers with a change, or for an agent that edits files."""

from __future__ import annotations

from lae_controller.config import MutatorSettings
from lae_controller.errors import ChildError
from lae_controller.program import Reason, parse_child_id
from lae_controller.prompts.draft import Draft
from lae_controller.prompts.fit import Levels
from lae_controller.prompts.role import Form
from lae_controller.prompts.turns import Prompt
from lae_controller.task import Task

_AGENT_LIMIT = 24_000  # estimated tokens; beyond it the agent reads the files itself


def build_prompt(task: Task, settings: MutatorSettings, *, token_limit: int) -> Prompt:
    """Return what a model is told to propose the child of ``task``.

    The same task and settings give the same prompt.

    Args:
        settings: ``reply`` says in which form the change is asked for.
        token_limit: estimated tokens that the whole prompt may have (see ``estimate_tokens``);
            leave room for the reply. Over it, parts are left out in the order of
            ``fit.TRIMMED``, then files of the program. What was left out is said in the prompt.

    Raises:
        ChildError: ``mutator_error`` if not even one file of the program fits.
    """
    draft = Draft(task, Form(settings.reply))
    levels = draft.fitted(token_limit)
    prompt = draft.prompt(levels, draft.code)
    return prompt if prompt.tokens <= token_limit else _with_fewer_files(draft, levels, token_limit)


def _with_fewer_files(draft: Draft, levels: Levels, token_limit: int) -> Prompt:
    """Leave out files of the program, others for each child, until the rest fits."""
    paths = sorted(draft.code)
    gen, island, slot = parse_child_id(draft.task.child_id)
    start = (gen + island + slot) % len(paths)
    kept: dict[str, str] = {}
    best = None
    for path in paths[start:] + paths[:start]:
        more = dict(sorted({**kept, path: draft.code[path]}.items()))
        prompt = draft.prompt(levels, more)
        if prompt.tokens <= token_limit:
            kept, best = more, prompt
    if best is not None:
        return best
    smallest = min(paths, key=lambda path: len(draft.code[path]))
    need = draft.prompt(levels, {smallest: draft.code[smallest]}).tokens
    raise ChildError(
        Reason.MUTATOR_ERROR,
        f"the prompt is too long: with {smallest} alone it has about {need} tokens; expected at "
        f"most {token_limit}. Put evolve blocks around what may change in it, or take a model "
        "with a longer context",
    )


def agent_prompt(task: Task) -> str:
    """Return what a coding agent is told that edits the files in its working directory.

    The same as for a model, without examples; long code is not shown, since the agent can read
    it where it lies.
    """
    draft = Draft(task, Form.AGENT)
    levels = draft.fitted(_AGENT_LIMIT)
    prompt = draft.prompt(levels, draft.code)
    if prompt.tokens > _AGENT_LIMIT:
        prompt = draft.prompt(levels, {})
    return "\n\n".join([prompt.system, *(turn.text for turn in prompt.turns)]) + "\n"
