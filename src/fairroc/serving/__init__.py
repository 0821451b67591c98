"""The service: a model behind HTTP. `fairroc serve` starts it; it needs the extra ``serve``."""
