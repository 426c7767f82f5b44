"""The checks of the local forge, which asks no server."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from damascus.domain.check import Check
from damascus.domain.config import Config


@dataclass(frozen=True)
class LocalDoctor:
    config: Config
    main: str

    def checks(self) -> Iterator[tuple[str, Callable[[], Check]]]:
        yield "forge", self.forge
        yield "jobs", self.jobs
        if self._lost:
            yield "required", self.required

    def forge(self) -> Check:
        return Check("forge", "ok", f"local: stories land on {self.main} of this repository, no server is asked")

    def jobs(self) -> Check:
        jobs = ", ".join(self.config.ci.jobs) or "test, each story's own Test Command"
        return Check("jobs", "ok", f"run on this machine: {jobs}")

    def required(self) -> Check:
        told = f"[ci] required names {self._lost[0]}, which [ci.jobs] does not have. Add it there."
        return Check("required", "fail", told)

    @property
    def _lost(self) -> list[str]:
        ci = self.config.ci
        return [name for name in ci.required if ci.jobs and name not in ci.jobs]


def doctor(config: Config, environ: Mapping[str, str], main: str) -> LocalDoctor:
    return LocalDoctor(config, main)
