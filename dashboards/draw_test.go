package main

import (
	"fmt"
	"html"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const page = `<!doctype html><meta charset="utf-8"><style>
body{font:12px system-ui,sans-serif;background:#f4f5f5;margin:12px;color:#222}h1{font-size:18px;margin:0 0 10px}
main{display:grid;grid-template-columns:repeat(24,1fr);gap:8px}section{background:#fff;border:1px solid #ddd;padding:8px;overflow:hidden}
h2{font-size:12px;margin:0 0 4px}svg{width:100%%;height:150px}ul{list-style:none;margin:4px 0 0;padding:0;color:#444;columns:2;font-size:10px}
i{display:inline-block;width:10px;height:3px;margin-right:4px;vertical-align:middle}b.n{font-size:30px;font-weight:500}
table{border-collapse:collapse;font-size:10px}td,th{border-bottom:1px solid #eee;padding:2px 8px 2px 0;text-align:left;white-space:nowrap}em{color:#888}
</style><h1>%s</h1><main>`

var colours = []string{"#3274d9", "#e0752d", "#299c46", "#a352cc", "#c4162a", "#0f9b9b", "#8f6b00", "#5b5b5b", "#d44a9a", "#6f9bd8"}

// draw writes a dashboard with its answers as a page, so that somebody can look at it without a Grafana.
func draw(t *testing.T, f file, path string) {
	t.Helper()
	var out strings.Builder
	fmt.Fprintf(&out, page, html.EscapeString(f.Title))
	for _, p := range f.Panels {
		fmt.Fprintf(&out, `<section style="grid-column:%d/span %d"><h2>%s</h2>`, p.GridPos.X+1, p.GridPos.W, html.EscapeString(p.Title))
		unit := p.FieldConfig.Defaults.Unit
		switch {
		case len(p.table) > 0:
			tabulate(&out, p.table)
		case len(p.lines) == 0:
			out.WriteString("<em>nothing</em>")
		case p.Type == "stat":
			l := p.lines[0].points
			fmt.Fprintf(&out, `<b class=n>%s</b>`, amount(l[len(l)-1][1], unit))
		case p.Type == "table":
			table := [][]string{{"series", "value"}}
			for _, l := range p.lines {
				if len(l.points) > 0 {
					table = append(table, []string{l.name, amount(l.points[len(l.points)-1][1], unit)})
				}
			}
			tabulate(&out, table)
		default:
			chart(&out, p.lines, unit)
		}
		out.WriteString("</section>\n")
	}
	if err := os.WriteFile(path, []byte(out.String()+"</main>\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func tabulate(out *strings.Builder, table [][]string) {
	out.WriteString("<table>")
	for n, row := range table[:min(len(table), 12)] {
		cell := "td"
		if n == 0 {
			cell = "th"
		}
		out.WriteString("<tr>")
		for column, text := range row {
			if f, err := strconv.ParseFloat(text, 64); err == nil && (strings.Contains(text, ".") || unitOf(table[0][column]) != "") {
				text = amount(f, unitOf(table[0][column]))
			}
			fmt.Fprintf(out, "<%s>%s</%s>", cell, html.EscapeString(text), cell)
		}
		out.WriteString("</tr>")
	}
	out.WriteString("</table>")
}

func unitOf(column string) string {
	for _, u := range columnUnits {
		if strings.HasSuffix(column, u.ending) {
			return u.unit
		}
	}
	return ""
}

func chart(out *strings.Builder, lines []line, unit string) {
	const width, height, left = 600, 150, 60
	from, to, low, high := math.Inf(1), math.Inf(-1), 0.0, 0.0
	for _, l := range lines {
		for _, p := range l.points {
			from, to, low, high = min(from, p[0]), max(to, p[0]), min(low, p[1]), max(high, p[1])
		}
	}
	if high == low {
		high = low + 1
	}
	to = max(to, from+1)
	x := func(v float64) float64 { return left + (v-from)/(to-from)*(width-left-4) }
	y := func(v float64) float64 { return height - 16 - (v-low)/(high-low)*(height-24) }
	fmt.Fprintf(out, `<svg viewBox="0 0 %d %d" preserveAspectRatio="none">`, width, height)
	for _, v := range []float64{low, (low + high) / 2, high} {
		fmt.Fprintf(out, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#eee"/><text x="2" y="%.1f" font-size="10" fill="#666">%s</text>`,
			left, width, y(v), y(v), y(v)+3, amount(v, unit))
	}
	for _, v := range []float64{from, to} {
		fmt.Fprintf(out, `<text x="%.0f" y="%d" font-size="10" fill="#666">%s</text>`, min(x(v), width-50), height-2, time.Unix(int64(v), 0).UTC().Format("15:04:05"))
	}
	slices.SortFunc(lines, func(a, b line) int { return strings.Compare(a.name, b.name) })
	for n, l := range lines {
		var points []string
		for _, p := range l.points {
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(p[0]), y(p[1])))
		}
		fmt.Fprintf(out, `<polyline fill="none" stroke="%s" stroke-width="1.5" points="%s"/>`, colours[n%len(colours)], strings.Join(points, " "))
	}
	out.WriteString("</svg><ul>")
	for n, l := range lines[:min(len(lines), 10)] {
		fmt.Fprintf(out, `<li><i style="background:%s"></i>%s</li>`, colours[n%len(colours)], html.EscapeString(l.name))
	}
	out.WriteString("</ul>")
}

// amount writes a value as Grafana would with the unit.
func amount(v float64, unit string) string {
	switch unit {
	case "percentunit":
		return strconv.FormatFloat(100*v, 'g', 3, 64) + " %"
	case "s":
		return strconv.FormatFloat(v, 'g', 3, 64) + " s"
	case "bytes":
		return strconv.FormatFloat(v/(1<<20), 'g', 4, 64) + " MiB"
	case "reqps", "ops":
		return strconv.FormatFloat(v, 'g', 3, 64) + "/s"
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
