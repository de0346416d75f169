package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/laxity-dev/laxity/internal/classify"
	"github.com/laxity-dev/laxity/internal/limit"
	"github.com/laxity-dev/laxity/internal/render"
	"github.com/laxity-dev/laxity/internal/skew"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/tracefile"
	"github.com/laxity-dev/laxity/internal/verdict"
)

const statementWidth = 80

type explainFlags struct {
	output     string
	entry      string
	budgetFrom []string
	rules      string
	limits     []string
	csvMap     string
}

func newExplainCommand() *cobra.Command {
	var flags explainFlags
	cmd := &cobra.Command{
		Use:   "explain FILE [TRACE_ID]",
		Short: "Say where the time of a recorded trace went, straight from a file, without any server",
		Long: `Reads a file of traces in any known format (see 'laxity import --help'), judges each trace by its spans and says where
the time went, what was left, and who worked for nobody. A file of several traces gives a list, worst first, with the
timeouts that nobody recorded and at which calls of it pile up.`,
		Example: `  laxity explain slow-request.json
  laxity explain traces.json.gz 0af7651916cd43dd8448eb211c80319c -o md > incident.md
  laxity explain yelp.json --budget-from request_budget=ms
  laxity explain spans.csv --known-limit frontend,adservice=1s`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return &usageError{errors.New("explain takes a file, and the id of a trace if the file holds several; see 'laxity explain --help'")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			id := ""
			if len(args) == 2 {
				id = args[1]
			}
			return explain(cmd.OutOrStdout(), cmd.ErrOrStderr(), args[0], id, flags)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&flags.output, "output", "o", "text", "text, json or md (the incident record of one trace)")
	f.StringVar(&flags.entry, "entry", "", "id of the span to draw the account for, instead of the topmost entry with a budget")
	f.StringArrayVar(&flags.budgetFrom, "budget-from", nil, "`ATTRIBUTE=UNIT`: an attribute of another system that carries a budget, in s, ms, us or ns; may be repeated")
	f.StringVar(&flags.rules, "classify-rules", "", "`FILE` of rows that tell causes and phases from statuses, types and texts, before the built-in ones")
	f.StringArrayVar(&flags.limits, "known-limit", nil, "`[CALLER,]PEER[,OPERATION]=DURATION`: a timeout that is configured although no span records it; may be repeated")
	f.StringVar(&flags.csvMap, "csv-map", "", "columns of a CSV file, as `trace=COLUMN,span=COLUMN,start=COLUMN:UNIT,…`; default from its header")
	return cmd
}

func explain(out, notes io.Writer, path, id string, flags explainFlags) error {
	opts, classifier, columns, err := explainOptions(flags)
	if err != nil {
		return &usageError{err}
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return &usageError{fmt.Errorf("explain reads one file, and %s is a folder", path)}
	}
	if id != "" {
		if _, err := os.Stat(id); err == nil {
			return &usageError{fmt.Errorf("explain reads one file, and %s is another; the second argument is the id of a trace", id)}
		}
	}
	var spans []span.Span
	summary, err := withFile(path, func(in io.Reader) (*tracefile.Summary, error) {
		return tracefile.Read(in, tracefile.Options{Columns: columns}, func(batch []*tracepb.ResourceSpans) error {
			spans = append(spans, tracefile.Spans(batch)...)
			return nil
		})
	})
	if err != nil {
		return fileError(path, err)
	}
	noteRefusals(notes, path, summary)
	for i := range spans {
		classifier.Annotate(&spans[i])
	}
	groups := verdict.Group(spans)
	limits := learnFrom(groups, &opts)
	if id != "" {
		if groups, err = chooseTrace(groups, id); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	switch {
	case len(groups) > 0:
	case summary.Refused == 0:
		return fmt.Errorf("%s: it holds logs, metrics or profiles and no span", path)
	default:
		return fmt.Errorf("%s: no trace in it could be read", path)
	}
	if !opts.Entry.IsZero() {
		if groups = withEntry(groups, opts.Entry); len(groups) == 0 {
			return fmt.Errorf("%s: no span %s in it", path, flags.entry)
		}
	}
	statements := make([]*verdict.Statement, len(groups))
	for i, group := range groups {
		statements[i] = verdict.Judge(group, opts)
	}
	return writeStatements(out, path, statements, limits, flags.output)
}

// learnFrom finds in the traces of one file what no single trace tells, for the judgement of each: hidden limits, which are
// returned, and offsets between clocks.
func learnFrom(groups [][]span.Span, opts *verdict.Options) []limit.Limit {
	var calls []verdict.Call
	for _, group := range groups {
		calls = append(calls, verdict.Calls(group)...)
	}
	limits := limit.Find(calls)
	opts.Hidden = limit.Hidden(limits)
	opts.Offsets = skew.Learn(calls, opts.Hidden)
	return limits
}

func explainOptions(flags explainFlags) (opts verdict.Options, classifier *classify.Classifier, columns *tracefile.Columns, err error) {
	config := classify.Config{RulesFile: flags.rules}
	switch flags.output {
	case "text", "json", "md":
	default:
		return opts, nil, nil, fmt.Errorf("-o %s: want text, json or md", flags.output)
	}
	if flags.entry != "" {
		entry, ok := tracefile.SpanID(flags.entry)
		if !ok {
			return opts, nil, nil, fmt.Errorf("--entry %s: no span id", flags.entry)
		}
		opts.Entry = entry
	}
	for _, text := range flags.budgetFrom {
		attribute, unit, ok := cutLast(text, "=")
		if !ok {
			return opts, nil, nil, fmt.Errorf("--budget-from %s: want ATTRIBUTE=UNIT, such as request_budget=ms", text)
		}
		config.BudgetFrom = append(config.BudgetFrom, classify.BudgetFrom{Attribute: attribute, Unit: unit})
	}
	if classifier, err = classify.New(config); err != nil {
		return opts, nil, nil, err
	}
	if opts.Limits, err = parseLimits(flags.limits); err != nil {
		return opts, nil, nil, err
	}
	if flags.csvMap != "" {
		columns, err = tracefile.ParseColumns(flags.csvMap)
	}
	return opts, classifier, columns, err
}

// parseLimits reads PEER=DURATION, CALLER,PEER=DURATION and CALLER,PEER,OPERATION=DURATION; what is empty matches any.
func parseLimits(texts []string) (map[verdict.Edge]time.Duration, error) {
	limits := map[verdict.Edge]time.Duration{}
	for _, text := range texts {
		place, length, ok := cutLast(text, "=")
		limit, err := time.ParseDuration(length)
		if !ok || err != nil || limit <= 0 {
			return nil, fmt.Errorf("--known-limit %s: want [CALLER,]PEER[,OPERATION]=DURATION, such as frontend,adservice=1s", text)
		}
		var edge verdict.Edge
		switch parts := strings.SplitN(place, ",", 3); len(parts) {
		case 1:
			edge.Peer = parts[0]
		case 2:
			edge.Caller, edge.Peer = parts[0], parts[1]
		default:
			edge.Caller, edge.Peer, edge.Operation = parts[0], parts[1], parts[2]
		}
		limits[edge] = limit
	}
	return limits, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// chooseTrace finds a trace by its id in any spelling, or by the unambiguous beginning of it.
func chooseTrace(groups [][]span.Span, text string) ([][]span.Span, error) {
	if id, ok := tracefile.TraceID(text); ok {
		for _, group := range groups {
			if group[0].Trace == id {
				return [][]span.Span{group}, nil
			}
		}
	}
	var found [][]span.Span
	for _, group := range groups {
		if strings.HasPrefix(group[0].Trace.String(), strings.ToLower(text)) {
			found = append(found, group)
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("no trace %s among its %d; without an id the list of them is shown", text, len(groups))
	case 1:
		return found, nil
	}
	return nil, fmt.Errorf("%d traces begin with %s; give more digits", len(found), text)
}

func withEntry(groups [][]span.Span, entry span.ID) [][]span.Span {
	for _, group := range groups {
		for i := range group {
			if group[i].ID == entry {
				return [][]span.Span{group}
			}
		}
	}
	return nil
}

func writeStatements(out io.Writer, path string, statements []*verdict.Statement, limits []limit.Limit, output string) error {
	switch {
	case output == "json":
		statements = render.WorstFirst(statements)
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		if len(statements) == 1 {
			return enc.Encode(statements[0])
		}
		return enc.Encode(statements)
	case len(statements) == 1 && output == "md":
		return render.Markdown(out, statements[0])
	case len(statements) == 1:
		return render.Text(out, statements[0], statementWidth)
	case output == "md":
		return fmt.Errorf("%s holds %d traces, an incident record tells of one: name it, as in 'laxity explain %s %s -o md'",
			path, len(statements), path, statements[0].TraceID)
	}
	if err := render.List(out, statements, statementWidth); err != nil {
		return err
	}
	for _, l := range limits {
		if err := render.Limit(out, l, statementWidth); err != nil {
			return err
		}
	}
	// Two lines: one would be wider than the page.
	_, err := fmt.Fprintf(out, "To see one of them:\n  laxity explain %s \\\n    %s\n", path, render.WorstFirst(statements)[0].TraceID)
	return err
}

const shownRefusals = 10

// noteRefusals tells beside the answer what could not be read.
func noteRefusals(w io.Writer, path string, s *tracefile.Summary) {
	if s.Refused == 0 {
		return
	}
	fmt.Fprintf(w, "laxity: %s: refused and missing in the answer: %s\n", path, count(s.Refused, "record"))
	writeRefusals(w, s, shownRefusals)
}

func writeRefusals(w io.Writer, s *tracefile.Summary, most int) {
	for i, r := range s.Refusals {
		if i == most {
			break
		}
		fmt.Fprintf(w, "  %s\n", r)
	}
	if s.Refused > most {
		fmt.Fprintf(w, "  … and %d more\n", s.Refused-most)
	}
}

func fileError(path string, err error) error {
	if errors.Is(err, tracefile.ErrFormat) {
		return fmt.Errorf("%s: %w\nKnown are OTLP, Jaeger and Zipkin files, what SDKs print, rows of otel_traces and CSV: see docs/import.md", path, err)
	}
	if errors.Is(err, os.ErrNotExist) {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}
