"""Every kind of forge has every capability; one that is not known is refused, never taken for another."""

from importlib import import_module

from damascus.domain.config import Config, ForgeConfig
from damascus.domain.ports import CiRuns, Forge, MainBranch, Pulls, StoryBranches
from damascus.forges import FORGES
from damascus.forges.doctor import DOCTORS, doctor_of, examine
from damascus.forges.local.doctor import LocalDoctor


def test_each_kind_of_the_config_can_be_made_and_examined() -> None:
    assert set(FORGES) == set(DOCTORS)
    assert all(ForgeConfig.model_validate({"kind": kind}).kind == kind for kind in FORGES)
    assert all(callable(import_module(where).make) for where in FORGES.values())
    assert all(callable(import_module(where).doctor) for where in DOCTORS.values())


def test_a_forge_that_nobody_knows_is_not_taken_for_another() -> None:
    forge = ForgeConfig().model_copy(update={"kind": "gitlab", "url": "http://127.0.0.1:9/a/b", "token_env": "T"})
    config = Config().model_copy(update={"forge": forge})
    (check,) = examine(config, {"T": "x"}, "main")
    assert (check.name, check.state) == ("forge", "fail")
    assert "'gitlab'" in check.says and "gitea, github, local" in check.says


def test_the_local_forge_is_examined_without_a_server() -> None:
    assert isinstance(doctor_of(Config(), {}, "main"), LocalDoctor)
    assert [(check.name, check.state) for check in examine(Config(), {}, "main")] == [("forge", "ok"), ("jobs", "ok")]


def test_a_forge_is_its_capabilities_and_a_name() -> None:
    parts = [{name for name in vars(part) if name[0] != "_"} for part in (MainBranch, StoryBranches, Pulls, CiRuns)]
    assert sum(map(len, parts)) == len(set().union(*parts)) == 21, "no capability repeats another's"
    assert {name for name in vars(Forge) if name[0] != "_"} == {"name"}
