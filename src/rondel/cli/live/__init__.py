"""A session on a terminal: `facts` and events make a `board`, `lines` show it, `painter` paints."""
