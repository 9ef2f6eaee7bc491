import torch
from torch import nn

from landmark.models.autoencoder import AutoencoderConfig, VariationalAutoencoder


def test_the_network_of_the_paper_has_its_layers():
    with torch.device("meta"):
        model = VariationalAutoencoder(AutoencoderConfig())
    count = sum(parameter.numel() for parameter in model.parameters())
    one_way = (784 * 500 + 500) + (500 * 100 + 100)
    back = (50 * 500 + 500) + (500 * 784 + 784)
    assert count == one_way + back


def test_it_is_what_torch_builds_of_the_same_layers():
    torch.manual_seed(1)
    shape = AutoencoderConfig(image_size=3, channels=2, hidden_size=5, latent_size=4)
    model = VariationalAutoencoder(shape)
    images, noise = torch.rand(6, 2, 3, 3), torch.randn(6, 4)
    encoder = nn.Sequential(nn.Flatten(), model.encoder, nn.Softplus(), model.code)
    decoder = nn.Sequential(model.decoder, nn.Softplus(), model.output)
    mean, log_variance = encoder(images)[:, :4], encoder(images)[:, 4:]
    logits = decoder(mean + log_variance.exp().sqrt() * noise)
    for ours, theirs in zip(model(images, noise), (logits, mean, log_variance), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_weights_begin_with_a_variance_of_a_hundredth():
    torch.manual_seed(2)
    model = VariationalAutoencoder(AutoencoderConfig())
    for layer in (model.encoder, model.code, model.decoder, model.output):
        assert 0.0095 < layer.weight.var() < 0.0105
        assert not layer.bias.any()
