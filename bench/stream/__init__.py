"""Server-sent events from one process to thousands of clients, beside Litestar's own."""
