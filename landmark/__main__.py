"""`python -m landmark`, the form that torchrun takes."""

from landmark.cli.main import main

if __name__ == "__main__":
    main()
