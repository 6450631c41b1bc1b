"""A session on a terminal: `session_now` folds events, `lines` show it, `painter` paints."""
