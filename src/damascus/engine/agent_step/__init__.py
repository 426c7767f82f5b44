"""What surrounds an agent: its purse, its brief, its workspace, its writes, its overseer, and what its end means."""
