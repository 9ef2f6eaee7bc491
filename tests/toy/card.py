"""The card of the corridor."""

from landmark.tasks.card import Card, FigureEntry, Product, Verb

CARD = Card(
    name="corridor",
    task="tests.toy.run:TASK",
    recipes=("tests.toy.recipes",),
    data_options="tests.toy.options:DataOptions",
    open="tests.toy.pipeline:open_pipeline",
    evaluate=Verb(
        name="evaluate",
        help="Corridor: the mean reward of games.",
        run="tests.toy.verbs:evaluate",
        options="tests.toy.options:EvaluateOptions",
    ),
    verbs=(
        Verb(
            name="generate",  # a word that language models have, too
            help="Walk from each start.",
            run="tests.toy.verbs:walk",
            options="tests.toy.options:WalkOptions",
            takes="texts",
            products=(
                Product(
                    "paths", "Write the walks as CSV.", "tests.toy.verbs:write_paths", (".csv",)
                ),
            ),
        ),
    ),
    commands=(
        Verb(
            name="corridor-rules",
            help="Print the rules of the corridor.",
            run="tests.toy.verbs:rules",
            options="tests.toy.options:RulesOptions",
        ),
    ),
    exports={
        "policy": Verb(
            name="policy",
            help="The policy as a table.",
            run="tests.toy.verbs:export_policy",
            options="tests.toy.options:PolicyOptions",
        )
    },
    begins_from=("corridor",),
    figures={
        "corridor": FigureEntry("corridor", "Draw what the critic expects.", "tests.toy.figure")
    },
)
