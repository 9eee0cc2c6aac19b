"""How fast the projections are: ranks among very many players, live application, rebuilds."""
