"""Programs of ours that a judged command's runtime loads, to tell what ran: it may refuse or select, never prove."""
