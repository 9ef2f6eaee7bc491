import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from landmark.core.errors import DamagedError
from landmark.data.understanding.bag_of_words import BagSamples, WordList
from landmark.data.understanding.example import LabeledText

TEXTS = ["A fine , fine film", "a dull film", "not fine", "the film is dull , not fine", "a the"]
EXAMPLES = [LabeledText(f"x:{n}", (text,), "01"[n % 2]) for n, text in enumerate(TEXTS)]


def test_bags_are_the_binary_counts_of_scikit_learn():
    theirs = CountVectorizer(binary=True, token_pattern=r"\S+").fit(TEXTS)
    words = WordList.of(EXAMPLES, 100)
    assert set(words.words) == set(theirs.vocabulary_)
    samples = BagSamples(EXAMPLES, words, ("0", "1"), 3, seed=1, shuffle=False)
    batch = samples.collate(0, [3, 0, 4])
    ours = np.zeros((3, len(words)))
    starts = batch.starts.tolist()
    for row in range(3):
        ours[row, batch.words[starts[row] : starts[row + 1]].numpy()] += 1
    order = [theirs.vocabulary_[word] for word in words.words]
    expected = theirs.transform([TEXTS[n] for n in (3, 0, 4)]).toarray()[:, order]
    np.testing.assert_array_equal(ours, expected)
    assert batch.labels.tolist() == [1, 0, 0]


def test_the_words_of_most_texts_are_kept_and_others_are_unknown(tmp_path):
    words = WordList.of(EXAMPLES, 3)
    assert words.words == ("a", "film", "fine")  # in three texts each; "," only in two
    assert words.bag(LabeledText("y:1", ("dull FINE fine unheard",))) == [2]
    words.save(tmp_path / "words.json")
    assert WordList.load(tmp_path / "words.json").words == words.words
    text = (tmp_path / "words.json").read_text()
    (tmp_path / "words.json").write_text(text.replace("film", "firm"))
    with pytest.raises(DamagedError):
        WordList.load(tmp_path / "words.json")


def test_an_epoch_has_every_text_once_in_an_order_of_its_own():
    words = WordList.of(EXAMPLES, 10)
    samples = BagSamples(EXAMPLES, words, ("0", "1"), 2, seed=1)
    plans = [np.concatenate(samples.plan(epoch)).tolist() for epoch in range(6)]
    assert all(sorted(plan) == [0, 1, 2, 3, 4] for plan in plans)
    assert len({tuple(plan) for plan in plans}) > 1
    assert [len(batch) for batch in samples.plan(0)] == [2, 2, 1]
    still = BagSamples(EXAMPLES, words, ("0", "1"), 2, seed=1, shuffle=False)
    assert np.concatenate(still.plan(3)).tolist() == [0, 1, 2, 3, 4]
