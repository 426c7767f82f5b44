"""What a plan would touch and may cost, for the question that a person answers before anything of it is built."""

from damascus.domain.ids import Sha
from damascus.domain.money import in_tokens
from damascus.domain.storable import clean
from damascus.engine.run import Run
from damascus.tasks.planned import StoryCost, blast_radius, commands_told, told

RECENT = 50


def plan_told(run: Run, base: Sha, commit: Sha) -> str:
    """Computed from the graph as it would land and from what landed before: nothing here is an agent's number."""
    config, mirror = run.tools.read_config(base), run.tools.mirror
    before, after = (mirror.read(at, config.tasks.graph) for at in (base, commit))
    files = mirror.listing(base).files
    queue = {row["story_id"]: row["phase"] for row in run.tools.db.all("story_phases", project=run.item.project_id)}
    radius = blast_radius(before, after or b"", files.keys(), queue, config.tasks.graph)
    landed = run.tools.db.all("spend_merged", project=run.item.project_id, limit=RECENT)
    costs = [StoryCost(row["tokens"], row["microdollars"]) for row in landed]
    most = f"{in_tokens(config.budget.story_tokens)} at most" if config.budget.story_tokens else "any number of tokens"
    commands = commands_told(before, after or b"", config.tasks.graph)
    return clean(" ".join(filter(None, [told(radius, costs, most), commands])), 8000)
