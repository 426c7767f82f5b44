"""Programs of ours that call a story's tests once under pytest and once without it; copied beside a run, never imported
here. What they tell comes from inside the judged process: it may refuse, never prove."""
