"""The bound's two parts are what torch.distributions says of the same distributions."""

import torch
from torch.distributions import Bernoulli, Independent, Normal, kl_divergence

from landmark.data.batch import ImageBatch
from landmark.models.autoencoder import AutoencoderConfig, VariationalAutoencoder
from landmark.objectives.variational import VariationalObjective, divergence, reconstruction


def batch_of(count=7) -> ImageBatch:
    torch.manual_seed(3)
    return ImageBatch(images=torch.rand(count, 1, 3, 3), labels=torch.zeros(count).long())


def objective_of(seed=1) -> VariationalObjective:
    torch.manual_seed(seed)
    shape = AutoencoderConfig(image_size=3, hidden_size=6, latent_size=4)
    model = VariationalAutoencoder(shape)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    return VariationalObjective(model)


def test_the_divergence_is_torchs():
    torch.manual_seed(1)
    mean, log_variance = torch.randn(5, 8), torch.randn(5, 8)
    code = Independent(Normal(mean, (log_variance / 2).exp()), 1)
    prior = Independent(Normal(torch.zeros(8), torch.ones(8)), 1)
    torch.testing.assert_close(divergence(mean, log_variance), kl_divergence(code, prior))


def test_the_reconstruction_is_the_likelihood_of_torchs_bernoulli():
    torch.manual_seed(2)
    logits, images = 3 * torch.randn(5, 12), torch.rand(5, 3, 2, 2)
    pixels = Independent(Bernoulli(logits=logits, validate_args=False), 1)
    torch.testing.assert_close(reconstruction(logits, images), -pixels.log_prob(images.flatten(1)))


def test_the_loss_estimates_the_negative_bound_from_one_code_an_image():
    objective, batch = objective_of(), batch_of()
    model = objective.model
    torch.manual_seed(9)
    (turn,) = objective.turns(batch, 1)
    torch.manual_seed(9)
    mean, log_variance = model.encode(batch.images)
    code = Independent(Normal(mean, (log_variance / 2).exp()), 1)
    drawn = code.rsample()
    pixels = Independent(Bernoulli(logits=model.decode(drawn), validate_args=False), 1)
    prior = Independent(Normal(torch.zeros(4), torch.ones(4)), 1)
    bound = pixels.log_prob(batch.images.flatten(1)) - kl_divergence(code, prior)
    torch.testing.assert_close(turn.loss_sum, -bound.sum())
    assert turn.weight == 7
    parts = turn.metrics["reconstruction"] + turn.metrics["divergence"]
    torch.testing.assert_close(parts, turn.loss_sum.detach())
    torch.testing.assert_close(turn.again(), turn.loss_sum)


def test_validation_draws_the_same_codes_every_time():
    objective, batch = objective_of(), batch_of()
    first = objective.measure(batch)
    torch.manual_seed(77)
    assert objective.measure(batch) == first
    assert first["loss"][0] == first["reconstruction"][0] + first["divergence"][0]
    assert first["loss"][1] == 7
    assert objective_of(seed=2).measure(batch) != first
