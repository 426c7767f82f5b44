"""How something is proved: judged commands run on clean checkouts, and what their reports say is read here."""
