# SPDX-License-Identifier: Apache-2.0
"""Networks that make images, sound and masks: with transposed convolutions of many forms. Weights are random."""
import torch
from torch import nn


def up(inner, outer, taps, stride, padding, more=0, norm=nn.BatchNorm2d, act=nn.ReLU):
    layers = [nn.ConvTranspose2d(inner, outer, taps, stride, padding, more, bias=norm is None)]
    return nn.Sequential(*layers, *([norm(outer)] if norm else []), act())


def down(inner, outer, taps=4, stride=2, norm=nn.BatchNorm2d):
    layers = [nn.Conv2d(inner, outer, taps, stride, (taps - 1) // 2, bias=norm is None)]
    return nn.Sequential(*layers, *([norm(outer)] if norm else []), nn.LeakyReLU(0.2))


def dcgan():
    widths = (512, 256, 128, 64)
    return nn.Sequential(up(100, 512, 4, 1, 0), *(up(a, b, 4, 2, 1) for a, b in zip(widths, widths[1:])),
                         up(64, 3, 4, 2, 1, norm=None, act=nn.Tanh)), (100, 1, 1)


class Level(nn.Module):
    """A level of pix2pix's network: smaller, what is within, larger, beside what came."""

    def __init__(self, outer, inner, within):
        super().__init__()
        last = within is None
        self.down = down(outer, inner, norm=None if last else nn.BatchNorm2d)
        self.within, self.up = within, up(inner if last else 2 * inner, outer, 4, 2, 1)

    def forward(self, x):
        y = self.down(x)
        return torch.cat([x, self.up(self.within(y) if self.within else y)], 1)


def pix2pix():
    within = Level(256, 512, Level(512, 512, Level(512, 512, None)))
    for outer, inner in ((128, 256), (64, 128)):
        within = Level(outer, inner, within)
    return nn.Sequential(down(3, 64, norm=None), within, up(128, 3, 4, 2, 1, norm=None, act=nn.Tanh)), (3, 256, 256)


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(width, width, 3), nn.InstanceNorm2d(width),
                                    nn.ReLU(), nn.ReflectionPad2d(1), nn.Conv2d(width, width, 3),
                                    nn.InstanceNorm2d(width))

    def forward(self, x):
        return x + self.layers(x)


def cyclegan():
    norm = nn.InstanceNorm2d
    return nn.Sequential(nn.ReflectionPad2d(3), nn.Conv2d(3, 64, 7), norm(64), nn.ReLU(), down(64, 128, 3, 2, norm),
                         down(128, 256, 3, 2, norm), *(Residual(256) for _ in range(6)),
                         up(256, 128, 3, 2, 1, 1, norm), up(128, 64, 3, 2, 1, 1, norm), nn.ReflectionPad2d(3),
                         nn.Conv2d(64, 3, 7), nn.Tanh()), (3, 256, 256)


def fsrcnn():
    layers = [nn.Conv2d(1, 56, 5, padding=2), nn.PReLU(56), nn.Conv2d(56, 12, 1), nn.PReLU(12)]
    for _ in range(4):
        layers += [nn.Conv2d(12, 12, 3, padding=1), nn.PReLU(12)]
    return nn.Sequential(*layers, nn.Conv2d(12, 56, 1), nn.PReLU(56), nn.ConvTranspose2d(56, 1, 9, 4, 4, 3)), (1, 96, 96)


class Sound(nn.Module):
    """A vocoder as HiFi-GAN's, with one block of each size."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Conv1d(80, 256, 7, padding=3), nn.Conv1d(16, 1, 7, padding=3)
        widths, rates = (256, 128, 64, 32, 16), (8, 8, 2, 2)
        self.ups = nn.ModuleList(nn.ConvTranspose1d(a, b, 2 * r, r, r // 2) for a, b, r in zip(widths, widths[1:], rates))
        self.blocks = nn.ModuleList(nn.ModuleList(nn.Conv1d(b, b, 3, padding=d, dilation=d) for d in (1, 3, 5))
                                    for b in widths[1:])

    def forward(self, x):
        x = self.first(x)
        for grow, block in zip(self.ups, self.blocks):
            x = grow(nn.functional.leaky_relu(x, 0.1))
            for layer in block:
                x = x + layer(nn.functional.leaky_relu(x, 0.1))
        return torch.tanh(self.last(nn.functional.leaky_relu(x, 0.1)))


def hifigan():
    return Sound(), (80, 64)


def vae():
    """An encoder and a decoder of images."""
    encoder = [down(a, b, 3) for a, b in ((3, 32), (32, 64), (64, 128), (128, 256))]
    decoder = [up(a, b, 3, 2, 1, 1, act=nn.LeakyReLU) for a, b in ((256, 128), (128, 64), (64, 32), (32, 32))]
    return nn.Sequential(*encoder, nn.Flatten(), nn.Linear(256 * 16, 128), nn.Linear(128, 256 * 16),
                         nn.Unflatten(1, (256, 4, 4)), *decoder, nn.Conv2d(32, 3, 3, padding=1), nn.Sigmoid()), (3, 64, 64)


class Masks(nn.Module):
    """A U-Net whose transposed convolutions are as long as their strides."""

    def __init__(self):
        super().__init__()
        widths = (32, 64, 128, 256)
        self.downs = nn.ModuleList(nn.Sequential(down(a, b, 3, 1), down(b, b, 3, 1))
                                   for a, b in zip((3, *widths), widths))
        self.ups = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, 2) for a, b in zip(widths, widths[1:]))
        self.joins = nn.ModuleList(nn.Sequential(down(2 * a, a, 3, 1), down(a, a, 3, 1)) for a in widths[:-1])
        self.last = nn.Conv2d(32, 4, 1)

    def forward(self, x):
        kept = []
        for i, layer in enumerate(self.downs):
            x = layer(x if i == 0 else nn.functional.max_pool2d(x, 2))
            kept.append(x)
        for i in (2, 1, 0):
            x = self.joins[i](torch.cat([kept[i], self.ups[i](x)], 1))
        return self.last(x)


def unet():
    return Masks(), (3, 192, 192)


NETWORKS = {f.__name__: f for f in (dcgan, pix2pix, cyclegan, fsrcnn, hifigan, vae, unet)}
