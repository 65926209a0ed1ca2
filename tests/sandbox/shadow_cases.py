"""Small projects whose files say whose they are, and the ways in which the wrong ones may run.

Each project exists twice: the original says ``repo``, the child says ``mine`` (words of one length,
as stale bytecode is only taken for fresh when sizes agree). The child's folders lie inside the
original's, as they do in a real run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lae_controller.sandbox.proof import Verdict, verdict
from lae_controller.sandbox.record import Record, read_record, recorder_env

Change = Callable[["Place"], None]

TRAIN = "import model\nprint('train=@whose', 'model=' + model.WHO)\n"
MODEL = "'A text and a check: -O drops them.'\nassert __name__\nWHO = '@whose'\n"
SAYS = "print('train=@whose', 'model=' + WHO)\n"
BASIC = {"train.py": TRAIN, "model.py": MODEL}


@dataclass(frozen=True)
class Place:
    """The folders of one case: the original project, and where its children live."""

    repo: Path
    lae: Path

    @property
    def program(self) -> Path:
        return self.lae / "programs" / "child"

    @property
    def run(self) -> Path:
        return self.lae / "runs" / "child" / "full"

    @property
    def work(self) -> Path:
        return self.run / "work"

    @property
    def proof(self) -> Path:
        return self.run / "proof"

    @property
    def venv(self) -> Path:
        return self.repo / ".venv"

    def words(self, text: str, python: Path) -> str:
        """Put the paths of this place into a text."""
        for word, path in (("@repo", self.repo), ("@work", self.work), ("@python", python)):
            text = text.replace(word, str(path))
        return text


@dataclass(frozen=True)
class Outcome:
    """What a case gave."""

    said: str
    errors: str
    status: int
    record: Record
    verdict: Verdict


def write_tree(root: Path, files: Mapping[str, str], whose: str) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("@whose", whose), encoding="utf-8")


@dataclass(frozen=True)
class Case:
    """One way to start a training run.

    Attributes:
        said: what the run prints: whose code it was.
        ok: the right verdict.
        proven: whether it should be proven; the same as ``ok`` unless given.
        sentence: a part of the verdict's sentence.
        link: paths that are links to the original's, in the program and its run copy.
        change: done to the run copy, after it was made and before the run.
    """

    name: str
    command: str
    said: str
    ok: bool = True
    proven: bool | None = None
    sentence: str = ""
    files: Mapping[str, str] = field(default_factory=lambda: BASIC)
    editable: tuple[str, ...] = ("model.py",)
    entrypoint: str | None = "train.py"
    link: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    pythonpath: str = ""
    change: Change = lambda place: None
    is_python: bool = True

    def build(self, place: Place, python: Path) -> None:
        files = {
            name: place.words(text, python)
            for name, text in self.files.items()
            if name not in self.link
        }
        write_tree(place.repo, files, "repo")
        for name in self.link:
            write_tree(place.repo, {name: self.files[name]}, "repo")
        write_tree(place.program, files, "mine")
        for name in self.link:
            (place.program / name).parent.mkdir(parents=True, exist_ok=True)
            (place.program / name).symlink_to(place.repo / name)
        shutil.copytree(place.program, place.work, symlinks=True)
        place.proof.mkdir()
        self.change(place)

    def go(self, place: Place, python: Path, bwrap: Path | None = None) -> Outcome:
        """Build the project, run it as a child, judge the record."""
        self.build(place, python)
        return self.run(place, python, bwrap)

    def run(self, place: Place, python: Path, bwrap: Path | None = None) -> Outcome:
        """Run what was built; with ``bwrap``, the run copy is mounted over the original project."""
        own, foreign = ([place.work], [place.repo]) if bwrap is None else ([place.repo], [])
        pythonpath = place.words(self.pythonpath, python)
        env = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        env.update(recorder_env(place.proof, own, foreign, pythonpath, self.editable))
        env.update({key: place.words(value, python) for key, value in self.env.items()})
        around = [] if bwrap is None else over(bwrap, place)
        done = subprocess.run(
            [*around, "/bin/sh", "-c", place.words(self.command, python)],
            cwd=place.work,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        record = read_record(place.proof)
        judged = verdict(
            record,
            program=place.program,
            seen_at=own[0],
            entrypoint=self.entrypoint,
            editable=self.editable,
            python=python,
            is_python=self.is_python,
        )
        return Outcome(done.stdout.strip(), done.stderr, done.returncode, record, judged)


def over(bwrap: Path, place: Place) -> list[str]:
    """Return the words that run a command with the run copy in the original project's place."""
    mounts = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind"]
    mounts += [str(place.work), str(place.repo), "--bind", str(place.proof), str(place.proof)]
    link = place.work / ".venv"
    if link.is_symlink():
        link.unlink()
        link.mkdir()
        mounts += ["--ro-bind", str(place.venv), str(place.venv)]
    return [str(bwrap), *mounts, "--unshare-pid", "--die-with-parent", "--chdir", str(place.repo)]


def beside(root: Path) -> Place:
    """Lay a case out with the children's folders beside the project, as one mount over it needs."""
    return Place(root / "project", root / "sandbox" / "lae")


def inside(root: Path) -> Place:
    """Lay a case out as a real run is by default: the children's folders inside the project."""
    return Place(root / "project", root / "project" / "sandbox" / "lae")


BOTH = "train=mine model=mine"
PACKAGE = {
    "train.py": "import net\nprint('train=@whose', 'net=' + net.WHO)\n",
    "src/net.py": MODEL,
}


def old_bytecode(place: Place) -> None:
    """Put the original's bytecode beside the child's source, which agrees in size and time."""
    python = (place.repo / "interpreter.txt").read_text()
    code = "import py_compile, sys; py_compile.compile(sys.argv[1])"
    subprocess.run([python, "-c", code, "model.py"], cwd=place.repo, check=True)
    shutil.copytree(place.repo / "__pycache__", place.work / "__pycache__")
    stamp = (place.repo / "model.py").stat().st_mtime_ns
    os.utime(place.work / "model.py", ns=(stamp, stamp))


def environment(place: Place, line: str) -> None:
    """Make the project a virtual environment of its own, with ``line`` in a .pth file."""
    python = (place.repo / "interpreter.txt").read_text()
    subprocess.run([python, "-m", "venv", "--without-pip", place.venv], check=True)
    packages = next(place.venv.glob("lib/python*/site-packages"))
    (packages / "project.pth").write_text(line + "\n")
    (packages / "library.py").write_text("WHO = 'else'\n")
    (packages / "finder.py").write_text(FINDER.replace("@repo", str(place.repo)))
    (place.venv / "bin" / "tool.py").write_text("import library\nimport train\n")
    (place.work / ".venv").symlink_to(place.venv)


FINDER = """\
import sys
from importlib.util import spec_from_file_location


class Finder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name == "net":
            return spec_from_file_location(name, "@repo/src/net.py")


def install():
    sys.meta_path.append(Finder)
"""

SPAWN = """\
import multiprocessing
import model


def work(_):
    import late
    return late.WHO


if __name__ == "__main__":
    with multiprocessing.get_context("@method").Pool(2) as pool:
        print("train=@whose", "late=" + "".join(set(pool.map(work, range(4)))))
"""

REWRITES = """\
import ast
import sys
from importlib.machinery import PathFinder, SourceFileLoader


class Loader(SourceFileLoader):
    def source_to_code(self, data, path):
        tree = ast.parse(data)
        tree.body.append(ast.parse("CHECKED = True").body[0])
        return compile(tree, path, "exec", dont_inherit=True)


class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "model":
            spec = PathFinder.find_spec(name, path)
            spec.loader = Loader(name, spec.origin)
            return spec


sys.meta_path.insert(0, Finder())
import model
print("train=@whose", "model=" + model.WHO, model.CHECKED)
"""

WITH_LIBRARY = {**BASIC, "train.py": "import library\n" + TRAIN}
NOTED = {"interpreter.txt": "@python"}

SHADOWS = [
    Case("plain", "@python train.py", BOTH),
    Case("as a module", "@python -m train", BOTH),
    Case("without user packages", "@python -s -B train.py", BOTH),
    Case("optimised", "@python -O train.py", BOTH),
    Case("without docstrings", "@python -OO train.py", BOTH),
    Case("optimised by the environment", "@python train.py", BOTH, env={"PYTHONOPTIMIZE": "2"}),
    Case("after the shell, by another process", "true && @python train.py | cat", BOTH),
    *[
        Case(
            f"without a record, {option}",
            f"@python {option} train.py",
            "train=mine",
            ok=False,
            sentence="No Python process left a record",
            files={"train.py": "print('train=@whose')\n"},
            editable=("train.py",),
        )
        for option in ("-I", "-S", "-E")
    ],
    Case(
        "PYTHONPATH set in the command",
        "PYTHONPATH=src @python train.py",
        "train=mine net=mine",
        ok=False,
        sentence="put PYTHONPATH under env",
        files=PACKAGE,
        editable=("src/net.py",),
    ),
    Case(
        "linked entry point",
        "@python train.py",
        "train=repo model=repo",
        ok=False,
        sentence="train.py: @repo/train.py was run, a file of the original project",
        link=("train.py",),
    ),
    Case(
        "linked entry point, as a module",
        "@python -m train",
        "train=repo model=mine",
        ok=False,
        sentence="train.py: @repo/train.py was run",
        link=("train.py",),
    ),
    Case(
        "linked module",
        "@python train.py",
        "train=mine model=repo",
        ok=False,
        sentence="model.py: @repo/model.py was run",
        link=("model.py",),
    ),
    Case("the original on PYTHONPATH", "@python train.py", BOTH, pythonpath="@repo"),
    Case(
        "the original's sources on PYTHONPATH",
        "@python train.py",
        "train=mine net=repo",
        ok=False,
        sentence="src/net.py: @repo/src/net.py was run",
        files=PACKAGE,
        editable=("src/net.py",),
        pythonpath="@repo/src",
    ),
    Case(
        "the child's sources on PYTHONPATH",
        "@python train.py",
        "train=mine net=mine",
        files=PACKAGE,
        editable=("src/net.py",),
        pythonpath="src",
    ),
    Case(
        "absolute path of the script",
        "@python @repo/train.py",
        "train=repo model=repo",
        ok=False,
        sentence="train.py: @repo/train.py was run",
    ),
    Case(
        "editable install",
        ".venv/bin/python train.py",
        "train=mine net=repo",
        ok=False,
        sentence="src/net.py: @repo/src/net.py was run",
        files={**PACKAGE, **NOTED},
        editable=("src/net.py",),
        change=lambda place: environment(place, f"{place.repo}/src"),
    ),
    Case(
        "editable install by a finder",
        ".venv/bin/python train.py",
        "train=mine net=repo",
        ok=False,
        sentence="src/net.py: @repo/src/net.py was run",
        files={**PACKAGE, **NOTED},
        editable=("src/net.py",),
        change=lambda place: environment(place, "import finder; finder.install()"),
    ),
    Case(
        "imported before the recorder",
        ".venv/bin/python train.py",
        "train=mine net=repo",
        ok=False,
        sentence="src/net.py: @repo/src/net.py was run",
        files={**PACKAGE, **NOTED},
        editable=("src/net.py",),
        change=lambda place: environment(
            place, f"import sys; sys.path.append({str(place.repo / 'src')!r}); import net"
        ),
    ),
    Case(
        "editable install, the child's sources first",
        ".venv/bin/python train.py",
        "train=mine net=mine",
        files={**PACKAGE, **NOTED},
        editable=("src/net.py",),
        pythonpath="src",
        change=lambda place: environment(place, f"{place.repo}/src"),
    ),
    Case(
        "installed in another copy",
        "@python train.py",
        "train=mine net=else",
        ok=True,
        proven=False,
        sentence="never executed nor opened: src/net.py",
        files={**PACKAGE, "lib/site-packages/net.py": "WHO = 'else'\n"},
        editable=("src/net.py",),
        pythonpath="@repo/lib/site-packages",
    ),
    Case(
        "the project's own environment",
        ".venv/bin/python .venv/bin/tool.py",
        BOTH,
        files={**WITH_LIBRARY, **NOTED},
        entrypoint=None,
        pythonpath=".",
        change=lambda place: environment(place, ""),
    ),
    Case(
        "old bytecode",
        "@python train.py",
        "train=mine model=repo",
        ok=False,
        sentence="model.py: the code that ran is not what the child's source compiles to",
        files={**BASIC, **NOTED},
        change=old_bytecode,
    ),
    Case(
        "old bytecode, after other code was compiled",
        "@python train.py",
        "train=mine model=repo",
        ok=False,
        sentence="model.py: the code that ran is not what the child's source compiles to",
        files={
            **BASIC,
            **NOTED,
            "train.py": "import ast\ncompile(ast.parse('x = 1'), 'x.py', 'exec')\n" + TRAIN,
        },
        change=old_bytecode,
    ),
    Case(
        "old bytecode, a bytecode folder of its own",
        "@python train.py",
        BOTH,
        files={**BASIC, **NOTED},
        env={"PYTHONPYCACHEPREFIX": "@work/../bytecode"},
        change=old_bytecode,
    ),
    Case(
        "starts the original's script",
        "@python train.py",
        "train=mine\nother=repo",
        ok=False,
        sentence="other.py: @repo/other.py was run",
        files={
            "train.py": "import subprocess, sys\nprint('train=@whose', flush=True)\n"
            "subprocess.run([sys.executable, '@repo/other.py'])\n",
            "other.py": "print('other=@whose')\n",
        },
        editable=("train.py",),
    ),
    Case(
        "imports anew from the original",
        "@python train.py",
        BOTH + "\nmodel=repo",
        ok=False,
        sentence="model.py: @repo/model.py was run",
        files={
            **BASIC,
            "train.py": TRAIN + "import sys\nsys.path.insert(0, '@repo')\n"
            "del sys.modules['model']\nimport model\nprint('model=' + model.WHO)\n",
        },
    ),
    Case(
        "executes the original's text",
        "@python train.py",
        "train=mine model=repo",
        ok=False,
        sentence="model.py: @repo/model.py was read",
        files={
            **BASIC,
            "train.py": "exec(open('@repo/model.py').read())\n" + SAYS,
        },
    ),
    Case(
        "executes its own text",
        "@python train.py",
        BOTH,
        files={
            **BASIC,
            "train.py": "exec(open('model.py').read())\n" + SAYS,
        },
    ),
    Case(
        "runs its own path",
        "@python train.py",
        BOTH,
        files={
            **BASIC,
            "train.py": "import runpy\nWHO = runpy.run_path('model.py')['WHO']\n" + SAYS,
        },
    ),
    Case(
        "runs the original's path",
        "@python train.py",
        "train=mine model=repo",
        ok=False,
        sentence="model.py: @repo/model.py was run",
        files={
            **BASIC,
            "train.py": "import runpy\nWHO = runpy.run_path('@repo/model.py')['WHO']\n" + SAYS,
        },
    ),
    Case(
        "imports again",
        "@python train.py",
        BOTH,
        files={**BASIC, "train.py": "import importlib, model\nimportlib.reload(model)\n" + TRAIN},
    ),
    *[
        Case(
            f"workers by {method}",
            "@python train.py",
            "train=mine late=mine",
            files={
                "train.py": SPAWN.replace("@method", method),
                "model.py": MODEL,
                "late.py": MODEL,
            },
            editable=("model.py", "late.py"),
        )
        for method in ("spawn", "fork", "forkserver")
    ],
    Case(
        "ends without cleaning up",
        "@python train.py",
        BOTH,
        files={**BASIC, "train.py": TRAIN + "import os, sys\nsys.stdout.flush()\nos._exit(0)\n"},
    ),
    Case(
        "becomes another program",
        "@python start.py",
        BOTH,
        entrypoint="start.py",
        files={
            **BASIC,
            "start.py": "import os, sys\nos.execv(sys.executable, [sys.executable, 'train.py'])\n",
        },
    ),
    Case(
        "changes its folder",
        "@python train.py",
        BOTH,
        files={
            **BASIC,
            "train.py": "import os\nos.makedirs('outputs/1')\nos.chdir('outputs/1')\n" + TRAIN,
        },
    ),
    Case(
        "executes code it made up",
        "@python train.py",
        BOTH,
        files={
            **BASIC,
            "train.py": TRAIN + "exec('x = 1')\nexec(compile('y = 1', '<string>', 'exec'))\n"
            "exec(compile('y = 1', '@repo/generated', 'exec'))\neval('1')\n",
        },
    ),
    Case(
        "imports from an archive",
        "@python train.py",
        BOTH,
        files={
            **BASIC,
            "train.py": "import sys, zipfile\nwith zipfile.ZipFile('a.zip', 'w') as archive:\n"
            "    archive.writestr('zipped.py', 'x = 1')\nsys.path.append('a.zip')\n"
            "import zipped\n" + TRAIN,
        },
    ),
    Case(
        "names with blanks and letters of all kinds",
        "@python 'a b/tr\u00e4in.py'",
        BOTH,
        files={
            "a b/tr\u00e4in.py": "import sys\nsys.path.insert(0, 'we\\tird\\\\n')\n" + TRAIN,
            "we\tird\\n/model.py": MODEL,
        },
        entrypoint="a b/tr\u00e4in.py",
        editable=("we\tird\\n/model.py",),
    ),
    Case(
        "has an audit hook",
        "@python train.py",
        BOTH,
        files={
            **BASIC,
            "train.py": "import sys\nseen = []\nsys.addaudithook(lambda *a: seen.append(a))\n"
            + TRAIN,
        },
    ),
    Case(
        "imports in threads",
        "@python train.py",
        "train=mine",
        files={
            "train.py": "import threading\n"
            "names = ['m%d' % n for n in range(20)]\n"
            "threads = [threading.Thread(target=__import__, args=[n]) for n in names]\n"
            "[t.start() for t in threads]\n[t.join() for t in threads]\nprint('train=@whose')\n",
            **{f"m{n}.py": MODEL for n in range(20)},
        },
        editable=tuple(f"m{n}.py" for n in range(20)),
    ),
    Case(
        "closes every descriptor",
        "@python train.py",
        BOTH + "\nnotes=14",
        files={
            **BASIC,
            "train.py": "import os\nos.closerange(3, 64)\nnotes = open('notes.txt', 'w+')\n"
            "notes.write('only this text')\n" + TRAIN + "notes.seek(0)\n"
            "print('notes=%d' % len(notes.read()))\n",
        },
    ),
    Case(
        "has a sitecustomize",
        "@python train.py",
        "custom=mine\n" + BOTH,
        files={**BASIC, "hooks/sitecustomize.py": "print('custom=@whose')\n"},
        editable=("model.py", "hooks/sitecustomize.py"),
        pythonpath="hooks",
    ),
    Case(
        "reads settings of its own",
        "@python train.py",
        "train=mine lr=mine",
        files={
            "train.py": "print('train=@whose', 'lr=' + open('conf/a.yaml').read())\n",
            "conf/a.yaml": "@whose",
        },
        editable=("conf/a.yaml",),
    ),
    Case(
        "reads the original's settings",
        "@python train.py",
        "train=mine lr=repo",
        ok=False,
        sentence="conf/a.yaml: @repo/conf/a.yaml was read",
        files={
            "train.py": "print('train=@whose', 'lr=' + open('@repo/conf/a.yaml').read())\n",
            "conf/a.yaml": "@whose",
        },
        editable=("conf/a.yaml",),
    ),
    Case(
        "reads a prompt",
        "@python train.py",
        "train=mine text=mine",
        files={
            "train.py": "print('train=@whose', 'text=' + open('prompt.txt').read())\n",
            "prompt.txt": "@whose",
        },
        editable=("prompt.txt",),
    ),
    Case(
        "only writes its settings",
        "@python train.py",
        "train=mine",
        proven=False,
        sentence="never executed nor opened: a.yaml",
        files={"train.py": "open('a.yaml', 'w').close()\nprint('train=@whose')\n", "a.yaml": "x"},
        editable=("a.yaml",),
    ),
    Case(
        "linked data with code",
        "@python train.py",
        "train=mine data=repo",
        files={
            "train.py": "import sys\nsys.path.append('data')\nimport loader\n"
            "open('data/info.json').close()\nprint('train=@whose', 'data=' + loader.WHO)\n",
            "data/loader.py": MODEL,
            "data/info.json": "{}",
        },
        link=("data/loader.py", "data/info.json"),
        editable=("train.py",),
    ),
    Case(
        "code in a scratch folder",
        "@python train.py",
        BOTH,
        files={
            **BASIC,
            "train.py": TRAIN + "import os, sys\nos.makedirs(os.environ['TMPDIR'])\n"
            "sys.path.append(os.environ['TMPDIR'])\n"
            "open(os.environ['TMPDIR'] + '/made_here.py', 'w').close()\nimport made_here\n",
        },
        env={"TMPDIR": "@repo/sandbox/scratch"},
    ),
    Case(
        "makes a module and imports it",
        "@python train.py",
        BOTH,
        sentence="made by the run itself: made_here.py",
        files={
            **BASIC,
            "train.py": TRAIN + "open('made_here.py', 'w').close()\nimport made_here\n",
        },
    ),
    Case(
        "another child's code",
        "@python @repo/sandbox/lae/programs/other/train.py",
        "train=else",
        ok=False,
        sentence="sandbox/lae/programs/other/train.py was run",
        change=lambda place: write_tree(
            place.lae / "programs" / "other", {"train.py": "print('train=@whose')\n"}, "else"
        ),
    ),
    Case(
        "changed before the run",
        "@python train.py",
        "train=mine model=else",
        ok=False,
        sentence="model.py: its content when it ran was not the child's",
        change=lambda place: write_tree(place.work, {"model.py": MODEL}, "else"),
    ),
    Case(
        "changed during the run",
        "@python train.py",
        "train=mine model=else",
        ok=False,
        sentence="model.py: its content when it ran was not the child's",
        files={
            **BASIC,
            "train.py": "with open('model.py', 'w') as f:\n    f.write('WHO = %r' % 'else')\n"
            + TRAIN,
        },
    ),
    Case(
        "changed as it is compiled",
        "@python train.py",
        BOTH + " True",
        proven=False,
        sentence="model.py was changed as it was compiled",
        files={**BASIC, "train.py": REWRITES},
    ),
    Case(
        "package",
        "@python -m pack",
        "train=mine model=mine",
        files={"pack/__init__.py": "", "pack/__main__.py": TRAIN, "model.py": MODEL},
        entrypoint="pack.py",
    ),
    Case(
        "module below a source folder",
        "@python -m pack.train",
        "train=mine model=mine",
        files={"src/pack/__init__.py": "", "src/pack/train.py": TRAIN, "src/model.py": MODEL},
        entrypoint="pack/train.py",
        editable=("src/model.py",),
        pythonpath="src",
    ),
    Case(
        "by a launcher",
        "@python -m launcher train.py",
        BOTH,
        proven=False,
        sentence="the entry point launcher.py is no file of the program",
        files={
            **BASIC,
            "lib/site-packages/launcher.py": "import subprocess, sys\n"
            "subprocess.run([sys.executable, *sys.argv[1:]])\n",
        },
        entrypoint="launcher.py",
        pythonpath="@repo/lib/site-packages",
    ),
    Case(
        "by a shell script",
        "sh run.sh",
        BOTH,
        files={**BASIC, "run.sh": "@python train.py\n"},
        entrypoint="run.sh",
    ),
    Case(
        "not at all",
        "@python -c 'print(1)'",
        "1",
        ok=False,
        sentence="train.py: the entry point never ran",
    ),
    Case(
        "something else",
        "@python -c 'print(1)'",
        "1",
        ok=False,
        sentence="no file of the child was run",
        entrypoint=None,
    ),
    Case(
        "not Python",
        "cat train.sh",
        "train=mine",
        proven=False,
        sentence="no Python code of the program ran",
        files={"train.sh": "train=@whose"},
        entrypoint="train.sh",
        editable=("train.sh",),
        is_python=False,
    ),
]
"""The shadow matrix: how a run is started, whose code it then runs, and the right verdict."""

CURED_BY_A_MOUNT = frozenset(
    [
        "the original's sources on PYTHONPATH",
        "absolute path of the script",
        "editable install",
        "editable install by a finder",
        "starts the original's script",
        "imports anew from the original",
        "executes the original's text",
        "runs the original's path",
        "reads the original's settings",
    ]
)
"""Cases that run the child's code after all when its run copy is mounted over the project."""
