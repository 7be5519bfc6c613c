"""Layer trainer: answers the protocol of docs/protocol.md by docs/spec.md. It uses layer safe, never sys."""
