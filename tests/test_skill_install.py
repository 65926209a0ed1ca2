from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_cli import lae

from lae_controller.errors import ConfigError
from lae_controller.skill_files import skill_root
from lae_controller.skill_install import MANIFEST, NAME, install, names, render

FOLDERS = (f".claude/skills/{NAME}", f".agents/skills/{NAME}")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A small skill, as a checkout or a wheel holds it, with what must not be copied."""
    root = tmp_path / "source"
    for name, text in {
        "SKILL.md": "the skill",
        "README.md": "not part of it",
        "roles/Mutator.md": "a role",
        "references/more.md": "more",
        "examples/toy/model.py": "x = 1",
        "examples/toy/sandbox/lae/journal.jsonl": "{}",
        "examples/toy/__pycache__/model.pyc": "",
        "examples/toy/.claude/skills/alpha-evolve/SKILL.md": "an installed copy",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.fixture
def project(tmp_path: Path) -> Path:
    path = tmp_path / "project"
    path.mkdir()
    return path


def tree(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in folder.rglob("*")
        if path.is_file() and path.name != MANIFEST
    }


SKILL = {
    "SKILL.md": "the skill",
    "roles/Mutator.md": "a role",
    "references/more.md": "more",
    "examples/toy/model.py": "x = 1",
}


def test_both_folders_of_a_project_get_the_skill_and_nothing_else(
    source: Path, project: Path
) -> None:
    done = install(source, [], project)
    assert [plan.folder for plan in done] == [project.resolve() / name for name in FOLDERS]
    for name in FOLDERS:
        assert tree(project / name) == SKILL


def test_a_second_install_writes_nothing(source: Path, project: Path) -> None:
    install(source, [], project)
    before = {p: p.stat().st_mtime_ns for p in project.rglob("*")}
    done = install(source, [], project)
    assert all(plan.written == () and len(plan.unchanged) == len(SKILL) for plan in done)
    assert {p: p.stat().st_mtime_ns for p in project.rglob("*")} == before


@pytest.mark.parametrize(
    ("given", "expected"), [("skills", f"skills/{NAME}"), (f"skills/{NAME}", f"skills/{NAME}")]
)
def test_the_folder_always_bears_the_name_of_the_skill(
    source: Path, project: Path, given: str, expected: str
) -> None:
    install(source, [Path(given), project / given / "."], project)
    assert tree(project / expected) == SKILL
    assert not (project / FOLDERS[0]).exists()


def test_an_untouched_copy_is_brought_up_to_date(source: Path, project: Path) -> None:
    install(source, [], project)
    (source / "SKILL.md").write_text("a newer one")
    (source / "references/more.md").unlink()
    (source / "references/other.md").write_text("other")
    done = install(source, [], project)
    assert done[0].removed == ("references/more.md",)
    expected = {**SKILL, "SKILL.md": "a newer one", "references/other.md": "other"}
    del expected["references/more.md"]
    assert tree(project / FOLDERS[0]) == expected
    assert "1 of an earlier version removed" in render(done[0])


def test_an_edited_copy_is_not_overwritten_and_nothing_is_written_anywhere(
    source: Path, project: Path
) -> None:
    install(source, [], project)
    edited = project / FOLDERS[1] / "roles/Mutator.md"
    edited.write_text("my own role")
    (source / "SKILL.md").write_text("a newer one")
    with pytest.raises(ConfigError, match=r"Mutator\.md: edited here.*--force"):
        install(source, [], project)
    assert (project / FOLDERS[0] / "SKILL.md").read_text() == "the skill"
    assert edited.read_text() == "my own role"


def test_forced_it_overwrites_and_says_so(source: Path, project: Path) -> None:
    install(source, [], project)
    (project / FOLDERS[1] / "SKILL.md").write_text("mine")
    done = install(source, [], project, force=True)
    assert done[1].overwritten == ("SKILL.md",)
    assert "edited and overwritten: SKILL.md" in render(done[1])
    assert tree(project / FOLDERS[1]) == SKILL


def test_an_edit_that_says_the_same_as_the_new_version_is_none(source: Path, project: Path) -> None:
    install(source, [], project)
    (source / "SKILL.md").write_text("a newer one")
    for name in FOLDERS:
        (project / name / "SKILL.md").write_text("a newer one")
    assert install(source, [], project)[0].overwritten == ()


def test_a_copy_without_a_list_is_somebodys_own(source: Path, project: Path) -> None:
    mine = project / FOLDERS[0]
    mine.mkdir(parents=True)
    (mine / "SKILL.md").write_text("written by hand")
    with pytest.raises(ConfigError, match="not put there"):
        install(source, [], project)
    (mine / MANIFEST).write_text('{"files": 3}')
    with pytest.raises(ConfigError, match="not put there"):
        install(source, [], project)


def test_what_a_person_added_stays_also_when_forced(source: Path, project: Path) -> None:
    install(source, [], project)
    added = project / FOLDERS[0] / "references/ours.md"
    added.write_text("ours")
    (project / FOLDERS[0] / "references/more.md").write_text("edited")
    (source / "references/more.md").unlink()
    done = install(source, [], project, force=True)
    assert done[0].kept == ("references/more.md",)
    assert added.read_text() == "ours"
    assert "edited and kept" in render(done[0])


# -- links ---------------------------------------------------------------------------------------


def test_a_list_that_names_files_elsewhere_removes_nothing(source: Path, project: Path) -> None:
    import hashlib

    precious = project / "roles" / "precious"
    precious.parent.mkdir()
    precious.write_text("x")
    copy = project / FOLDERS[0]
    copy.mkdir(parents=True)
    hashed = hashlib.sha256(b"x").hexdigest()
    named = ("roles/../../../../roles/precious", str(precious), "../../../roles/precious")
    (copy / MANIFEST).write_text(json.dumps({"files": dict.fromkeys(named, hashed)}))
    assert install(source, [], project, force=True)[0].removed == ()
    assert precious.read_text() == "x"


@pytest.mark.parametrize("name", ["SKILL.md", "roles"])
def test_nothing_is_written_through_a_link_inside_the_copy(
    source: Path, project: Path, tmp_path: Path, name: str
) -> None:
    install(source, [], project)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("precious")
    (project / FOLDERS[0] / "roles/Mutator.md").unlink()
    target = project / FOLDERS[0] / name
    target.rmdir() if target.is_dir() else target.unlink()
    target.symlink_to(outside if name == "roles" else outside / "file")
    with pytest.raises(ConfigError, match="nothing was written"):
        install(source, [], project)
    install(source, [], project, force=True)
    assert tree(outside) == {"file": "precious"}
    assert tree(project / FOLDERS[0]) == SKILL


def test_a_project_whose_skills_lie_elsewhere_is_not_left(
    source: Path, project: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (project / ".claude").mkdir()
    (project / ".claude" / "skills").symlink_to(outside)
    with pytest.raises(ConfigError, match="outside of this project"):
        install(source, [], project)
    assert not any(outside.iterdir())
    assert not (project / ".agents").exists()
    install(source, [outside], project)
    assert tree(outside / NAME) == SKILL


def test_a_folder_that_is_a_link_to_elsewhere_is_refused(
    source: Path, project: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    link = project / "skills" / NAME
    link.parent.mkdir()
    link.symlink_to(tmp_path / "outside")
    with pytest.raises(ConfigError, match="is a link to"):
        install(source, [link], project, force=True)
    assert not any((tmp_path / "outside").iterdir())


def test_one_folder_may_be_a_link_to_the_other(source: Path, project: Path) -> None:
    link = project / FOLDERS[0]
    link.parent.mkdir(parents=True)
    link.symlink_to("../../.agents/skills/alpha-evolve")
    done = install(source, [], project)
    assert "which is installed too" in done[0].note
    assert link.is_symlink()
    assert tree(project / FOLDERS[1]) == SKILL


def test_a_link_to_the_skill_itself_needs_no_copy(source: Path, project: Path) -> None:
    link = project / FOLDERS[0]
    link.parent.mkdir(parents=True)
    link.symlink_to(source)
    before = tree(source)
    done = install(source, [], project, force=True)
    assert done[0].note.startswith("is the skill itself")
    assert tree(source) == before


def test_a_folder_where_a_file_belongs_is_named(source: Path, project: Path) -> None:
    (project / FOLDERS[1] / "SKILL.md").mkdir(parents=True)
    with pytest.raises(ConfigError, match="is a folder; expected a file"):
        install(source, [], project, force=True)
    assert not (project / FOLDERS[0]).exists()


# -- the command, with the skill of this package --------------------------------------------------


def test_the_command_installs_the_real_skill(project: Path) -> None:
    done = lae("skill", "install", "--json", cwd=project)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [item["folder"] for item in found] == [str(project.resolve() / f) for f in FOLDERS]
    expected = names(skill_root())
    assert found[0]["written"] == expected
    for name in ("SKILL.md", "schemas/run.schema.json", "examples/digits/digits.npz"):
        assert name in expected
        assert (project / FOLDERS[1] / name).read_bytes() == (skill_root() / name).read_bytes()


def test_the_command_refuses_with_exit_2(project: Path) -> None:
    target = project / "elsewhere"
    assert lae("skill", "install", "--to", str(target)).returncode == 0
    (target / NAME / "SKILL.md").write_text("mine")
    done = lae("skill", "install", "--to", str(target))
    assert done.returncode == 2
    assert "--force" in done.stderr
    assert "Traceback" not in done.stderr
