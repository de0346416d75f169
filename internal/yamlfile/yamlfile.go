// Package yamlfile reads files in YAML that people write: strictly, and telling everything that is wrong with its line.
package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Problem is one thing wrong with a file.
type Problem struct {
	File string
	Line int
	Text string
}

func (p *Problem) Error() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s", p.File, p.Text)
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
}

// Reader collects everything that is wrong with one file.
type Reader struct {
	file string
	errs []error
}

// Fail notes what is wrong in a line, 0 for the whole file.
func (r *Reader) Fail(line int, format string, args ...any) {
	r.errs = append(r.errs, &Problem{r.file, line, fmt.Sprintf(format, args...)})
}

// NewReader returns a reader of a file of that name.
func NewReader(file string) *Reader { return &Reader{file: file} }

// Err joins a Problem for each thing that is wrong.
func (r *Reader) Err() error { return errors.Join(r.errs...) }

// Documents returns the roots of the documents of a file; what is no YAML ends them.
func (r *Reader) Documents(data []byte) (roots []*yaml.Node) {
	for decoder := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return roots
		}
		if err != nil {
			r.Fail(0, "%s", strings.TrimPrefix(err.Error(), "yaml: "))
			return nil
		}
		roots = append(roots, document.Content[0])
	}
}

// Fields reads the keys of a mapping, each by its own function.
func (r *Reader) Fields(node *yaml.Node, what string, read map[string]func(*yaml.Node)) map[string]bool {
	seen := map[string]bool{}
	if node.Kind != yaml.MappingNode {
		r.Fail(node.Line, "%s is not a list of keys and values", what)
		return seen
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		known, ok := read[key.Value]
		switch {
		case !ok:
			names := make([]string, 0, len(read))
			for name := range read {
				names = append(names, name)
			}
			slices.Sort(names)
			r.Fail(key.Line, "there is no key %q in %s; keys: %s", key.Value, what, strings.Join(names, ", "))
		case seen[key.Value]:
			r.Fail(key.Line, "%s is given twice", key.Value)
		default:
			seen[key.Value] = true
			known(value)
		}
	}
	return seen
}

// Text reads a text that is not empty.
func (r *Reader) Text(to *string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if n.Kind != yaml.ScalarNode || n.Value == "" {
			r.Fail(n.Line, "a text is missing here")
		}
		*to = n.Value
	}
}

// Number reads a whole number.
func (r *Reader) Number(to *uint64) func(*yaml.Node) {
	return func(n *yaml.Node) {
		value, err := strconv.ParseUint(n.Value, 10, 32)
		if err != nil {
			r.Fail(n.Line, "%q is no whole number", n.Value)
		}
		*to = value
	}
}

// Optional reads a whole number that need not be there.
func (r *Reader) Optional(to **uint64) func(*yaml.Node) {
	return func(n *yaml.Node) {
		*to = new(uint64)
		r.Number(*to)(n)
	}
}

// Length reads a duration that is not negative.
func (r *Reader) Length(to **time.Duration) func(*yaml.Node) {
	return func(n *yaml.Node) {
		d, err := time.ParseDuration(n.Value)
		switch {
		case err != nil:
			r.Fail(n.Line, "%q is no length; lengths look like 80ms, 1.5s", n.Value)
		case d < 0:
			r.Fail(n.Line, "%s is negative", n.Value)
		}
		*to = &d
	}
}

// Ratio reads a share as a number or as a percentage.
func (r *Reader) Ratio(to **float64) func(*yaml.Node) {
	return func(n *yaml.Node) {
		text, percent := strings.CutSuffix(n.Value, "%")
		value, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if percent {
			value /= 100
		}
		if err != nil || !(value >= 0 && value <= 1) {
			r.Fail(n.Line, "%q is no share; shares look like 0.01 or 1%%", n.Value)
		}
		*to = &value
	}
}
