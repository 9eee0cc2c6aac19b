"""Load for a service that runs: tables of mixed games, played by clients over HTTP and watched over streams."""
