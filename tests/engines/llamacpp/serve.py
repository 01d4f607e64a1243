"""Runs llama.cpp's own HTTP server until its standard input ends. Runs in the server's own environment.

Prints one JSON line with its address once it answers.
"""

import argparse
import json
import sys

import xllamacpp


def parameters(arguments: argparse.Namespace) -> xllamacpp.CommonParams:
    """One slot, one thread: two llama.cpp threads on busy cores spin against each other, ten times slower."""
    params = xllamacpp.CommonParams()
    params.model.path = arguments.weights
    params.model_alias = {arguments.alias}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = arguments.context
    params.n_parallel = 1
    params.api_keys = arguments.keys.split(",")
    params.endpoint_metrics = True
    params.offline = True
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    return params


def main() -> None:
    """Serve until end of file on standard input."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--weights", required=True)
    parser.add_argument("--alias", required=True)
    parser.add_argument("--context", type=int, required=True)
    parser.add_argument("--keys", required=True)
    server = xllamacpp.Server(parameters(parser.parse_args()))
    sys.stdout.write(json.dumps({"url": server.listening_address, "version": xllamacpp.__version__}) + "\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
