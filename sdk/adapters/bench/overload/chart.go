package main

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"
)

// Size and margins of the chart, in pixels.
const (
	width, height                    = 930, 420
	left, right, top, bottom         = 60, 260, 40, 50
	plotWidth, plotHeight            = width - left - right, height - top - bottom
	most                     float64 = 1.2 // of the capacity
)

var colours = []color.RGBA{{0xb0, 0x3a, 0x2e, 0xff}, {0x1f, 0x61, 0x8d, 0xff}, {0x9a, 0x7d, 0x0a, 0xff}, {0x1d, 0x83, 0x48, 0xff}}

// canvas is a picture under way.
type canvas struct{ *image.RGBA }

// drawing shows the answers in time over time, of the runs with warm connections.
func drawing(all []outcome) canvas {
	c := canvas{image.NewRGBA(image.Rect(0, 0, width, height))}
	draw.Draw(c, c.Bounds(), image.White, image.Point{}, draw.Src)
	grey, ink := color.RGBA{0xdd, 0xdd, 0xdd, 0xff}, color.RGBA{0x22, 0x22, 0x22, 0xff}
	seconds := (before + during + after).Seconds()
	x := func(s float64) int { return left + int(s/seconds*float64(plotWidth)) }
	y := func(share float64) int { return top + plotHeight - int(min(share, most)/most*float64(plotHeight)) }
	draw.Draw(c, image.Rect(x(before.Seconds()), top, x((before+during).Seconds()), top+plotHeight), image.NewUniform(color.RGBA{0xf4, 0xee, 0xe4, 0xff}), image.Point{}, draw.Src)
	for share := 0.0; share <= 1; share += 0.25 {
		c.line(left, y(share), left+plotWidth, y(share), grey)
		c.text(12, y(share)+4, fmt.Sprintf("%.2f", share), ink)
	}
	for s := 0.0; s <= seconds; s += 2 {
		c.text(x(s)-4, top+plotHeight+18, fmt.Sprintf("%.0f", s), ink)
	}
	c.text(left, top-16, fmt.Sprintf("answers in time, as a share of the capacity; shaded: %d times the usual load", spike), ink)
	c.text(left+plotWidth/2-20, height-12, "seconds", ink)
	i := 0
	for _, o := range all {
		if o.cold {
			continue
		}
		colour := colours[i%len(colours)]
		for w := 1; w < len(o.windows); w++ {
			for thick := range 2 {
				c.line(x(float64(w-1)*window.Seconds()), y(o.windows[w-1])+thick, x(float64(w)*window.Seconds()), y(o.windows[w])+thick, colour)
			}
		}
		c.line(left+plotWidth+12, top+20+i*22, left+plotWidth+28, top+20+i*22, colour)
		c.text(left+plotWidth+34, top+24+i*22, o.arm.what, colour)
		i++
	}
	return c
}

// save writes the chart to a file.
func save(file string, all []outcome) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := png.Encode(f, drawing(all).RGBA); err != nil {
		f.Close()
		return fmt.Errorf("chart: %w", err)
	}
	return f.Close()
}

// line draws a straight line.
func (c canvas) line(x0, y0, x1, y1 int, colour color.Color) {
	steps := max(abs(x1-x0), abs(y1-y0), 1)
	for i := range steps + 1 {
		c.Set(x0+(x1-x0)*i/steps, y0+(y1-y0)*i/steps, colour)
	}
}

func abs(n int) int { return max(n, -n) }

func (c canvas) text(x, y int, s string, colour color.Color) {
	d := font.Drawer{Dst: c, Src: image.NewUniform(colour), Face: basicfont.Face7x13, Dot: fixed.P(x, y)}
	d.DrawString(s)
}
