"""The messages of the API, field by field; requests are read and the OpenAPI text made from it.

Source: the discovery document of ``discoveryengine`` v1alpha, revision 20261106, and where it
lacks what the documents for people name (``idleTimeout``, a model's ``temperature``,
``resetInterval``, ``model``), those.
"""

from __future__ import annotations

from functools import partial

from lae_controller.service.fields import Field, Kind, Messages, Reader

_text = partial(Field, kind=Kind.STRING)
_number = partial(Field, kind=Kind.FLOAT)
_count = partial(Field, kind=Kind.INT32)
_flag = partial(Field, kind=Kind.BOOL)


def _of(
    name: str, message: str, about: str, *, required: bool = False, output: bool = False
) -> Field:
    return Field(name, Kind.MESSAGE, about, message, required=required, output=output)


def _list(name: str, message: str, about: str, *, required: bool = False) -> Field:
    return Field(name, Kind.MESSAGE, about, message, repeated=True, required=required)


EXPERIMENT_STATES = ("STATE_UNSPECIFIED", "CREATED", "RUNNING", "PAUSED", "COMPLETED", "FAILED")
PROGRAM_STATES = (
    "PROGRAM_STATE_UNSPECIFIED",
    "INITIALIZED",
    "GENERATING",
    "EVALUATING",
    "COMPLETED",
)
THINKING_LEVELS = ("THINKING_LEVEL_UNSPECIFIED", "MINIMAL", "LOW", "MEDIUM", "HIGH")

MESSAGES: Messages = {
    "Experiment": (
        _text("name", about="resource name", output=True),
        _of("config", "Config", "what is to be searched, and how", required=True),
        _text("state", about="where it stands", choices=EXPERIMENT_STATES, output=True),
        _text("createTime", about="when it was created", output=True, form="date-time"),
        _text("initialAlphaEvolveProgram", about="name of the seed program", output=True),
        _of("stats", "Stats", "how far it is", output=True),
    ),
    "Stats": (
        _count("candidatesCount", about="programs generated, the seed included"),
        _count("evaluatedCandidatesCount", about="programs that were scored"),
        Field("inputTokenCount", Kind.INT64, "prompt tokens of all model calls"),
        Field("outputTokenCount", Kind.INT64, "tokens that models wrote"),
    ),
    "Config": (
        _text("title", about="for people; at most 256 characters", required=True),
        _text("problemDescription", about="what to solve; at most 5000", required=True),
        _text(
            "programLanguage",
            about="main language of the code",
            required=True,
            also=("programmingLanguage",),
        ),
        _of("runSettings", "RunSettings", "how much and how fast", required=True),
        _of("generationSettings", "GenerationSettings", "models and prompts"),
        _of("evolutionSettings", "EvolutionSettings", "choice of parents"),
    ),
    "RunSettings": (
        _count("maxPrograms", about="programs in all, the seed included; 2 to 100000"),
        _count("concurrency", about="programs that are generated in parallel; 1 to 30"),
        _text("maxDuration", about="running time, at most 7 days", form="duration"),
        _text("idleTimeout", about="without work so long: paused", form="duration"),
    ),
    "GenerationSettings": (
        _text("context", about="further text for every prompt"),
        _flag("includeFullProgramInPrompt", about="whether prompts show more than the blocks"),
        _list("models", "ModelConfig", "at most 2; the Mutator's own model if unset"),
        _text("model", about="one model, by an older field"),
    ),
    "ModelConfig": (
        _text("name", about="a name that this server knows", required=True),
        _number("weight", about="share of the calls, relative to the others; 1 if unset"),
        _text("thinkingLevel", about="how much it may think", choices=THINKING_LEVELS),
        _number("temperature", about="0 to 2; kept with the experiment"),
    ),
    "EvolutionSettings": (
        _of("parentSamplingConfig", "ParentSamplingConfig", "choice of parents"),
        _count("resetInterval", about="generations from one migration to the next"),
    ),
    "ParentSamplingConfig": (
        _of("paretoSamplingConfig", "ParetoSamplingConfig", "parents by several metrics"),
    ),
    "ParetoSamplingConfig": (
        _number("paretoSamplingProbability", about="how often a parent comes from the front"),
    ),
    "Program": (
        _text("name", about="resource name", output=True),
        _of("content", "Content", "its source files"),
        _of("evaluation", "Evaluation", "what was measured"),
        _text("lockToken", about="proof of having acquired it", output=True),
        Field("parentPrograms", Kind.STRING, "what it was made from", repeated=True, output=True),
        _text("state", about="where it stands", choices=PROGRAM_STATES, output=True),
        _text("createTime", about="when it was created", output=True, form="date-time"),
    ),
    "Content": (
        _list("files", "SourceFile", "the whole program", required=True),
        _text("description", about="what it is, or what was changed; at most 1000 characters"),
    ),
    "SourceFile": (
        _text("path", about="relative, with the file's name; at most 256", required=True),
        _text("content", about="its text", required=True),
        _text("programLanguage", about="the experiment's, if given", also=("programmingLanguage",)),
        _text("description", about="what it is for; at most 500 characters"),
    ),
    "Evaluation": (
        _of("scores", "Scores", "what is optimised; larger is better"),
        _of("insights", "Insights", "remarks that reach the next prompts"),
    ),
    "Scores": (_list("scores", "Score", "one for each metric", required=True),),
    "Score": (
        _text("metric", about="name of the metric", required=True),
        _number("score", about="its value; larger is better", required=True),
    ),
    "Insights": (_list("insights", "Insight", "in order of weight"),),
    "Insight": (_text("label", about="a word or two"), _text("text", about="a sentence or two")),
    "Submission": (
        _text("program", about="resource name", required=True),
        _text("lockToken", about="as it was acquired", required=True),
        _of("evaluation", "Evaluation", "what was measured", required=True),
    ),
    "StartRequest": (
        _text("name", about="the experiment"),
        _of("initialProgram", "Program", "deprecated and ignored"),
        _count("desiredProgramsCount", about="in one of the API's examples; ignored"),
    ),
    "ResumeRequest": (_text("name", about="the experiment"),),
    "StopRequest": (_text("name", about="the experiment"),),
    "AcquireRequest": (
        _text("parent", about="the experiment"),
        _count("desiredProgramsCount", about="how many at most; 1 if unset"),
    ),
    "AcquireResponse": (_list("programs", "Program", "with a lock token each"),),
    "SubmitRequest": (
        _text("parent", about="the experiment"),
        _list("evaluationSubmissions", "Submission", "exactly one", required=True),
    ),
    "ListExperimentsResponse": (
        _list("alphaEvolveExperiments", "Experiment", "one page, the newest first"),
        _text("nextPageToken", about="absent on the last page"),
    ),
    "ListProgramsResponse": (
        _list("alphaEvolvePrograms", "Program", "one page"),
        _text("nextPageToken", about="absent on the last page"),
    ),
    "Operation": (
        _text("name", about="resource name"),
        _flag("done", about="whether it has ended"),
        Field("metadata", Kind.ANY, "what it is about"),
        Field("response", Kind.ANY, "what it led to, once done"),
        _of("error", "Status", "why it failed, once done"),
    ),
    "Status": (
        _count("code", about="of google.rpc.Code"),
        _text("message", about="for a developer"),
    ),
    "Empty": (),
}

READER = Reader(MESSAGES)
