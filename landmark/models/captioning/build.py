"""Every captioner: one type of configuration, one builder."""

import dataclasses

from landmark.core.errors import UserError
from landmark.models.captioning.captioner import Captioner
from landmark.models.captioning.show_attend_tell import ShowAttendTell, ShowAttendTellConfig
from landmark.models.captioning.transformer import CaptionTransformer, CaptionTransformerConfig
from landmark.models.vision import spatial_size

AnyCaptionerConfig = ShowAttendTellConfig | CaptionTransformerConfig


def build_captioner(config: AnyCaptionerConfig) -> Captioner:
    """The network of a configuration, with fresh weights."""
    config = with_places(config)
    if isinstance(config, ShowAttendTellConfig):
        return ShowAttendTell(config)
    return CaptionTransformer(config)


def with_places(config: AnyCaptionerConfig) -> AnyCaptionerConfig:
    """The configuration with the number and the size of the places that its encoder has."""
    if config.encoder is None:
        if config.feature_size is None:
            raise UserError("model.feature_size: give it, or an encoder (model.encoder)")
        return config
    map_size = spatial_size(config.encoder)
    places = map_size.rows * map_size.columns
    return dataclasses.replace(config, feature_size=map_size.channels, places=places)
