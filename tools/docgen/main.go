// Command docgen writes what is derived from the names in sdk/budgetattr: the documentation of the attributes and the
// constants of the page.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

func main() {
	root := flag.String("root", "..", "folder of the repository")
	flag.Parse()
	if err := generate(*root); err != nil {
		fmt.Fprintf(os.Stderr, "docgen: %v\n", err)
		os.Exit(1)
	}
}

// outputs maps a file below the root to what writes it.
var outputs = map[string]func([]budgetattr.Attribute, []enum) []byte{
	"docs/attributes.md":   markdown,
	"docs/metrics.md":      metrics,
	"web/src/api/names.ts": typescript,
}

func generate(root string) error {
	enums, err := readEnums(filepath.Join(root, "sdk/budgetattr/enums.go"))
	if err != nil {
		return err
	}
	for name, write := range outputs {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, write(budgetattr.All(), enums), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// enum is one enumerated type of the names, its values in the order of the source.
type enum struct {
	name, doc string
	values    []string
}

// readEnums reads the string types and their constants from one Go file.
func readEnums(path string) ([]enum, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("enums: %w", err)
	}
	var enums []enum
	at := map[string]int{}
	for _, decl := range file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range gen.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				at[s.Name.Name] = len(enums)
				enums = append(enums, enum{name: s.Name.Name, doc: sentence(gen.Doc.Text())})
			case *ast.ValueSpec:
				value, err := constant(s)
				if err != nil {
					return nil, err
				}
				i := at[s.Type.(*ast.Ident).Name]
				enums[i].values = append(enums[i].values, value)
			}
		}
	}
	return enums, nil
}

func constant(s *ast.ValueSpec) (string, error) {
	if len(s.Values) == 1 {
		if lit, ok := s.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
			return strconv.Unquote(lit.Value)
		}
	}
	return "", fmt.Errorf("constant %s is not one string", s.Names[0].Name)
}

func sentence(doc string) string {
	doc = strings.Join(strings.Fields(doc), " ")
	if first, _, found := strings.Cut(doc, ". "); found {
		return first + "."
	}
	return doc
}

func markdown(attributes []budgetattr.Attribute, enums []enum) []byte {
	var b bytes.Buffer
	b.WriteString("<!-- Generated from sdk/budgetattr by `make generate`. -->\n# Attributes\n\n")
	b.WriteString("One attribute makes a span count: `" + budgetattr.BudgetReceivedKey + "` on the entry span. Everything more is better evidence.\n")
	b.WriteString("Durations are numbers of seconds. *Entry* is the span with which a service begins to work on a request, *hop* a call\nor a stage.\n\n")
	b.WriteString("| attribute | type | unit | on | set by | meaning |\n|---|---|---|---|---|---|\n")
	for _, a := range attributes {
		kind := a.Type.String()
		if a.Enum != "" {
			kind = "[" + a.Enum + "](#" + strings.ToLower(a.Enum) + ")"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", a.Key, kind, a.Unit, a.On, a.SetBy, a.Meaning)
	}
	fmt.Fprintf(&b, "| `%s` | double | s | hop | sdk | the measured duration of one phase of a call |\n", budgetattr.PhaseTime("NAME"))
	fmt.Fprintf(&b, "\nThe event `%s` on the entry span names one hop still open when the response went out: `%s`,\n`%s`, `%s`, `%s`.\n",
		budgetattr.EventOpenChild, budgetattr.OpenChildSpanIDKey, budgetattr.OpenChildStageKey, budgetattr.OpenChildPeerKey, budgetattr.OpenChildCauseKey)
	b.WriteString("\n## Values\n")
	for _, e := range enums {
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n`%s`\n", e.name, e.doc, strings.Join(e.values, "` · `"))
	}
	return b.Bytes()
}

// metrics documents the metrics; it needs nothing of the attributes.
func metrics([]budgetattr.Attribute, []enum) []byte {
	var b bytes.Buffer
	b.WriteString("<!-- Generated from sdk/budgetattr by `make generate`. -->\n# Metrics\n\n")
	b.WriteString(metricsText)
	b.WriteString("| metric | on a Prometheus page | kind | unit | labels | measured by | meaning |\n|---|---|---|---|---|---|---|\n")
	for _, m := range budgetattr.Metrics() {
		var by []string
		for _, who := range []struct {
			name string
			does bool
		}{{"connector", m.Connector}, {"sdk", m.SDK}, {"worker", m.Worker}} {
			if who.does {
				by = append(by, who.name)
			}
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s | `%s` | %s | %s |\n", m.Name, m.PrometheusName(), m.Instrument, m.Unit,
			strings.Join(m.Labels(), "` `"), strings.Join(by, ", "), m.Meaning)
	}
	return b.Bytes()
}

const metricsText = `Three parts measure. The *connector* in the collector measures from spans: every service that sends spans with budgets is in it,
also those without the sdk, and its figures are thinned where spans are sampled, but weighted by the sampling threshold of the
trace state. The *sdk* keeps metrics in the process, through OpenTelemetry's metric API: no sampling thins them, and they reach
wherever the application sends its metrics. The *worker* counts what was judged from storage. The same name means the same
thing; do not add what the connector and the sdk measure of one service.

` + "`laxity up` and `laxity collector` serve the connector's metrics and the collector's own on one page, by default\n`http://127.0.0.1:9464/metrics`; the worker serves its own on `http://127.0.0.1:9465/metrics`.\n" + `
A histogram has the series _bucket, _sum and _count. Margin and overrun are two histograms of values that are never negative, both
observed for every answer with a budget, because the sum of a histogram must not fall: the mean margin is
(margin sum − overrun sum) ÷ count. The missed ratio is (late + exhausted) ÷ requests; series of both exist from the first request on.

A label without a value is left out. Facts that requests and hops both have carry service and route on a request, service, stage and
peer on a hop. From the sdk, service is not a label but the resource of the metrics. What there is no place for, because a limit of
series is reached, is counted in a series with the only label ` + "`otel.metric.overflow`" + `. Series of misses carry the trace of the latest one
as an exemplar (OpenMetrics, OTLP).

`

func typescript(attributes []budgetattr.Attribute, enums []enum) []byte {
	var b bytes.Buffer
	b.WriteString("// Generated from sdk/budgetattr by `make generate`.\n\n")
	for _, e := range enums {
		lower := strings.ToLower(e.name[:1]) + e.name[1:]
		fmt.Fprintf(&b, "/** %s */\nexport const %sValues = ['%s'] as const;\nexport type %s = (typeof %sValues)[number];\n\n",
			e.doc, lower, strings.Join(e.values, "', '"), e.name, lower)
	}
	b.WriteString("/** What each attribute means, by its key. */\nexport const attributeMeanings: Record<string, string> = {\n")
	for _, a := range attributes {
		fmt.Fprintf(&b, "  '%s': '%s',\n", a.Key, strings.ReplaceAll(a.Meaning, "'", "\\'"))
	}
	b.WriteString("};\n")
	return b.Bytes()
}
