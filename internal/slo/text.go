package slo

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	optionalPart = regexp.MustCompile(`\[([^\]]*)\]`)
	placeholder  = regexp.MustCompile(` ?\{(\w+)\}`)
)

// Fill replaces what is variable in a summary. A label is replaced with the space before it, so that both can be left out where it has no
// value; a part in brackets is left out where none of its labels has one.
func Fill(summary string, label func(name string, spaced bool) string, part func(filled string, labels []string) string) string {
	fill := func(text string) (string, []string) {
		var names []string
		return placeholder.ReplaceAllStringFunc(text, func(found string) string {
			name := strings.Trim(found, " {}")
			names = append(names, name)
			return label(name, found[0] == ' ')
		}), names
	}
	var out strings.Builder
	end := 0
	for _, m := range optionalPart.FindAllStringSubmatchIndex(summary, -1) {
		before, _ := fill(summary[end:m[0]])
		out.WriteString(before)
		out.WriteString(part(fill(summary[m[2]:m[3]])))
		end = m[1]
	}
	rest, _ := fill(summary[end:])
	return out.String() + rest
}

// Text fills in the summary.
func (a Alert) Text(labels map[string]string, value float64) string {
	return Fill(a.Summary, func(name string, spaced bool) string {
		text := labels[name]
		switch {
		case name == "value":
			text = a.format(value)
		case name == "peer" && text == labels["stage"]:
			text = "" // said once
		}
		if spaced && text != "" {
			return " " + text
		}
		return text
	}, func(filled string, names []string) string {
		for _, name := range names {
			if labels[name] != "" {
				return filled
			}
		}
		return ""
	})
}

func (a Alert) format(value float64) string {
	switch a.Unit {
	case "ratio":
		return strconv.FormatFloat(100*value, 'g', 3, 64) + " %"
	case "s":
		return strconv.FormatFloat(value, 'g', 3, 64) + " s"
	}
	return strconv.FormatFloat(value, 'f', 0, 64)
}

// length writes a duration without the zeros that its String has.
func length(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
