"""The methods of the API: what comes in, what is done, what goes out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from lae_controller.errors import LaeError
from lae_controller.service import limits
from lae_controller.service.api_errors import invalid, refused
from lae_controller.service.book import SEED_ID, Book, ServedProgram
from lae_controller.service.content import read_content
from lae_controller.service.evaluations import read_evaluation
from lae_controller.service.experiment import Durable, unavailable
from lae_controller.service.experiment_config import read_config
from lae_controller.service.incoming import check_parent, query, read_message
from lae_controller.service.listing import (
    Paging,
    page_of,
    parse_order,
    parse_paging,
    parse_state_filter,
    program_place,
)
from lae_controller.service.names import Child, parse_program, parse_session
from lae_controller.service.registry import Registry, Served
from lae_controller.service.render import (
    experiment_to_wire,
    operation_to_wire,
    program_to_wire,
)
from lae_controller.service.service import Service
from lae_controller.service.states import ProgramState


def json_response(value: Any, status: int = 200) -> Response:
    """Return a reply with a JSON body."""
    raw = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Response(raw.encode(), status, media_type="application/json; charset=utf-8")


async def kept(durable: Durable, book: Book) -> None:
    """Wait until what was done is on the disk.

    Raises:
        ApiError: SERVICE_UNAVAILABLE if it could not be written.
    """
    try:
        await asyncio.wrap_future(durable)
    except (LaeError, OSError) as error:
        raise unavailable(book.name) from error


class Routes:
    """The methods of v1alpha, by the collection and the verb that a path ends in."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._registry: Registry = service.registry

    # -- experiments -------------------------------------------------------------------------

    async def create_experiment(self, request: Request, parent: str) -> Response:
        """Create an experiment: POST P/alphaEvolveExperiments."""
        session = parse_session(parent)
        body = await read_message(request, "Experiment")
        if session.location not in limits.IDLE_TIMEOUT:
            served = ", ".join(limits.IDLE_TIMEOUT)
            raise refused(
                f"location {session.location!r} is not one of AlphaEvolve's; expected one of: "
                f"{served}. Create the experiment there"
            )
        if "config" not in body:
            raise invalid("config", "is missing", "the experiment's settings")
        catalogue = self._service.settings.catalogue
        config = read_config(body["config"], session.location, catalogue)
        book = await run_in_threadpool(self._registry.create, session, config)
        return json_response(experiment_to_wire(book))

    async def list_experiments(self, request: Request, parent: str) -> Response:
        """List experiments, the newest first: GET P/alphaEvolveExperiments."""
        session = parse_session(parent)
        asked = query(request, ("pageSize", "pageToken"))
        paging = _paging(asked, (parent,), width=2)
        page = page_of(
            self._registry.find(session), lambda b: (-b.created.at, b.created.id), paging
        )
        wire: dict[str, Any] = {
            "alphaEvolveExperiments": [experiment_to_wire(book) for book in page.items]
        }
        return _page(wire, page.token)

    async def get_experiment(self, request: Request, name: Child) -> Response:
        """Return an experiment: GET E."""
        query(request, ())
        return json_response(experiment_to_wire(self._registry.get(name).experiment.book))

    async def delete_experiment(self, request: Request, name: Child) -> Response:
        """Delete an experiment with its programs: DELETE E."""
        query(request, ())
        await run_in_threadpool(self._registry.delete, self._registry.get(name))
        return json_response({})

    async def start(self, request: Request, name: Child) -> Response:
        """Begin an experiment: POST E:start."""
        served = await self._named(request, name, "StartRequest", "name")
        operation, durable = self._registry.start(served)
        await kept(durable, served.experiment.book)
        return json_response(operation_to_wire(served.experiment.book, operation))

    async def resume(self, request: Request, name: Child) -> Response:
        """Go on with an experiment: POST E:resume."""
        served = await self._named(request, name, "ResumeRequest", "name")
        operation, durable = self._registry.resume(served)
        await kept(durable, served.experiment.book)
        return json_response(operation_to_wire(served.experiment.book, operation))

    async def stop(self, request: Request, name: Child) -> Response:
        """Pause an experiment: POST E:stop."""
        served = await self._named(request, name, "StopRequest", "name")
        await kept(served.experiment.stop(), served.experiment.book)
        return json_response(experiment_to_wire(served.experiment.book))

    async def _named(self, request: Request, name: Child, message: str, field: str) -> Served:
        served = self._registry.get(name)
        body = await read_message(request, message)
        check_parent(body, field, served.experiment.book.name)
        return served

    async def get_operation(self, request: Request, name: Child) -> Response:
        """Return an operation: GET O."""
        query(request, ())
        experiment = self._registry.get(name).experiment
        return json_response(operation_to_wire(experiment.book, experiment.operation(name.id)))

    # -- work --------------------------------------------------------------------------------

    async def acquire(self, request: Request, name: Child) -> Response:
        """Hand out programs: POST E:acquirePrograms; 204 if there is none."""
        served = self._registry.get(name)
        body = await read_message(request, "AcquireRequest")
        book = served.experiment.book
        check_parent(body, "parent", book.name)
        count = body.get("desiredProgramsCount", 0) or 1
        if count < 0:
            raise invalid("desiredProgramsCount", f"is {count}", "at least 1")
        handed, durable = served.experiment.acquire(count)
        if durable is None:
            return Response(status_code=204)
        await kept(durable, book)
        programs = [
            program_to_wire(book, one.program, served.sources.files(one.program.id), one.token)
            for one in handed
        ]
        return json_response({"programs": programs})

    async def submit(self, request: Request, name: Child) -> Response:
        """Take one evaluation: POST E:submitProgramsEvaluations."""
        served = self._registry.get(name)
        body = await read_message(request, "SubmitRequest")
        book = served.experiment.book
        check_parent(body, "parent", book.name)
        submissions = body.get("evaluationSubmissions", [])
        if len(submissions) != 1:
            raise invalid(
                "evaluationSubmissions",
                f"holds {len(submissions)} evaluations",
                "exactly one; send each in a call of its own",
            )
        where, submission = "evaluationSubmissions[0]", submissions[0]
        program = _program_of(submission, where, name, book)
        token = submission.get("lockToken", "")
        if not token:
            raise invalid(f"{where}.lockToken", "is missing", "the one from acquirePrograms")
        if "evaluation" not in submission:
            raise invalid(f"{where}.evaluation", "is missing", "scores, and insights if any")
        scored = read_evaluation(submission["evaluation"], f"{where}.evaluation")
        await kept(served.experiment.submit(program, token, scored), book)
        return json_response({})

    # -- programs ----------------------------------------------------------------------------

    async def create_program(self, request: Request, name: Child) -> Response:
        """Take the seed program: POST E/alphaEvolvePrograms."""
        served = self._registry.get(name)
        body = await read_message(request, "Program")
        book = served.experiment.book
        content = read_content(body.get("content"), book.config.language)
        scored = None
        if body.get("evaluation", {}).get("scores", {}).get("scores"):
            scored = read_evaluation(body["evaluation"], "evaluation")
        await kept(served.experiment.seed(content, scored), book)
        return await self._program(served, served.experiment.program(SEED_ID))

    async def get_program(self, request: Request, name: Child) -> Response:
        """Return a program: GET G."""
        query(request, ())
        served = self._registry.get(name)
        return await self._program(served, served.experiment.program(name.id))

    async def _program(self, served: Served, program: ServedProgram) -> Response:
        wire = await run_in_threadpool(_whole, served, program)
        return json_response(wire)

    async def list_programs(self, request: Request, name: Child) -> Response:
        """List programs by metrics: GET E/alphaEvolvePrograms."""
        served = self._registry.get(name)
        asked = query(
            request, ("orderBy", "stateFilter", "filter", "state", "pageSize", "pageToken")
        )
        filters = [(key, asked[key]) for key in ("stateFilter", "filter", "state") if key in asked]
        if len(filters) > 1:
            raise invalid("stateFilter", f"is given beside {filters[1][0]}", "one of them")
        key, text = filters[0] if filters else ("stateFilter", "")
        states = parse_state_filter(text, key)
        order = asked.get("orderBy", "")
        keys = parse_order(order)
        paging = _paging(asked, (served.experiment.book.name, order, text), width=2 * len(keys) + 2)
        programs = [
            program
            for program in served.experiment.programs()
            if states is None or program.state in states
        ]
        wire = await run_in_threadpool(_listed, served, programs, program_place(keys), paging)
        return json_response(wire)


def _paging(asked: dict[str, str], of: tuple[str, ...], width: int) -> Paging:
    return parse_paging(asked.get("pageSize", ""), asked.get("pageToken", ""), of, width)


def _page(wire: dict[str, Any], token: str) -> Response:
    return json_response({**wire, "nextPageToken": token} if token else wire)


def _program_of(submission: dict[str, Any], where: str, parent: Child, book: Book) -> str:
    """Return the id of the program that a submission is about."""
    given = submission.get("program", "")
    if not given:
        expected = "the resource name of the program"
        raise invalid(f"{where}.program", "is missing", expected)
    named = parse_program(given)
    if (named.session, named.experiment) != (parent.session, parent.experiment):
        raise invalid(f"{where}.program", f"is {given[:300]!r}", f"a program of {book.name}")
    return named.id


def _whole(served: Served, program: ServedProgram) -> dict[str, Any]:
    """Return a program with its sources, where it has any yet."""
    made = program.state not in (ProgramState.INITIALIZED, ProgramState.GENERATING)
    seed = program.id == SEED_ID
    files = served.sources.files(program.id) if made or seed else ()
    return program_to_wire(served.experiment.book, program, files)


def _listed(
    served: Served,
    programs: list[ServedProgram],
    place: Callable[[ServedProgram], tuple[float | str, ...]],
    paging: Paging,
) -> dict[str, Any]:
    """Return one page, ended early where the sources are large."""
    page = page_of(programs, place, paging)
    token, size = page.token, 0
    wires: list[dict[str, Any]] = []
    for program in page.items:
        wire = _whole(served, program)
        size += sum(len(f["content"]) for f in wire.get("content", {}).get("files", []))
        if wires and size > limits.PAGE_BYTES:
            token = paging.token(place(page.items[len(wires) - 1]))
            break
        wires.append(wire)
    listed: dict[str, Any] = {"alphaEvolvePrograms": wires}
    return {**listed, "nextPageToken": token} if token else listed
