"""The Go Text Protocol, version 2: the protocol, our program, and a controller of others."""
