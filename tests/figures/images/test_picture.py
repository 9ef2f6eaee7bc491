import torch
from matplotlib.figure import Figure

from landmark.figures.images.picture import draw_heat, draw_picture, enlarge, montage


def test_grey_and_coloured_images_are_drawn_as_they_are():
    axes = Figure().subplots()
    colour = torch.rand(3, 4, 5)
    shown = torch.tensor(draw_picture(axes, colour, "$name$").get_array())
    assert torch.equal(shown, colour.permute(1, 2, 0))
    assert axes.get_title() == "$name$"
    grey = torch.rand(1, 4, 5)
    image = draw_picture(axes, grey)
    assert torch.equal(torch.tensor(image.get_array()), grey[0])
    assert image.get_clim() == (0, 1)


def test_heat_lies_over_the_whole_image_whatever_its_size():
    heat = torch.tensor([[0.0, 1.0], [2.0, 5.0]])
    drawn = draw_heat(Figure().subplots(), torch.rand(3, 8, 6), heat)
    assert torch.equal(torch.tensor(drawn.get_array()), heat)
    assert drawn.get_extent() == [-0.5, 5.5, 7.5, -0.5]
    assert drawn.get_clim() == (0, 5)
    flat = draw_heat(Figure().subplots(), torch.rand(3, 8, 6), torch.zeros(2, 2))
    assert flat.get_clim() == (0, 1)


def test_panels_stand_in_rows_each_pixel_a_square():
    panels = torch.arange(3.0).view(3, 1, 1, 1).expand(3, 1, 24, 24) / 4
    sheet = montage(panels, 2)
    assert sheet.shape == (3, 2 * 51 + 3, 2 * 51 + 3)  # 48 pixels a panel, 3 between
    assert sheet[:, 3:51, 3:51].unique().tolist() == [0]
    assert sheet[:, 3:51, 54:102].unique().tolist() == [0.25]
    assert sheet[:, 54:102, 3:51].unique().tolist() == [0.5]
    assert sheet[0, 60, 60] == sheet[0, 0, 0]  # nothing there but what is around


def test_a_map_is_enlarged_within_its_values_each_place_over_its_part_of_the_image():
    heat = torch.tensor([[0.0, 1.0], [2.0, 8.0]])
    large = enlarge(heat, 8, 12)
    assert large.shape == (8, 12)
    assert (float(large.min()), float(large.max())) == (0, 8)
    assert large[:4, :6].mean() < large[:4, 6:].mean() < large[4:, 6:].mean()
