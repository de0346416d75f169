// Package conformance holds the vectors that any implementation of the wire forms must satisfy, as a plain text file.
package conformance

import (
	_ "embed"
	"fmt"
	"strings"
)

// Wire is the content of wire.txt, which describes its own format.
//
//go:embed wire.txt
var Wire string

// Vector is one line of a vector file.
type Vector struct {
	Line            int
	Operation       string
	Input, Expected string
}

// Vectors reads a vector file.
func Vectors(text string) ([]Vector, error) {
	var out []Vector
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		first, last := strings.Index(line, "\t"), strings.LastIndex(line, "\t")
		if first < 0 || first == last {
			return nil, fmt.Errorf("vector in line %d: %q has no three fields", n, line)
		}
		out = append(out, Vector{
			Line: n, Operation: line[:first], Expected: line[last+1:],
			Input: strings.NewReplacer(`\t`, "\t", `\s`, " ").Replace(line[first+1 : last]),
		})
	}
	return out, nil
}
