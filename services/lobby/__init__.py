"""The lobby: players and the tables they sit down at. It starts matches by asking the engine, and plays none itself."""
