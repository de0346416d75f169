package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/tracefile"
)

type importFlags struct {
	address   string
	tokenFile string
	retryFor  time.Duration
	csvMap    string
	output    string
}

func newImportCommand() *cobra.Command {
	var flags importFlags
	cmd := &cobra.Command{
		Use:   "import FILE…",
		Short: "Send recorded traces from files to a running Laxity, by the same path as live spans",
		Long: `Reads files of traces and sends them over OTLP. The format is told by the content, gzip or not: OTLP as JSON, JSON lines
(also mixed with logs and metrics) or protobuf; Tempo answers; Jaeger JSON of its API, its page or Elasticsearch; Zipkin v1
and v2; what OpenTelemetry SDKs print; rows of a ClickHouse otel_traces table; CSV. A FILE may be a pattern, a folder, or
'-' for standard input. Importing a file again changes nothing: the same spans get the same ids.

What cannot be used is refused with its position and the reason, never with what lies around it; then the exit code is 1.`,
		Example: `  laxity import traces.json
  laxity import 'exports/*.json.gz' --otlp-grpc collector.internal:4317
  kubectl logs app | laxity import -
  laxity import spans.csv --csv-map trace=trace_id,span=id,parent=parent,service=app,name=op,start=begin:us,duration=took:ms`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &usageError{errors.New("import takes at least one file, or '-' for standard input; see 'laxity import --help'")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runImport(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), args, flags)
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.address, "otlp-grpc", "127.0.0.1:4317", "where to send: host:port, or https://host:port for TLS")
	f.StringVar(&flags.tokenFile, "token-file", "", "file with the token that the receiver asks for")
	f.DurationVar(&flags.retryFor, "retry-for", 30*time.Second, "how long to try again while the receiver is away or overloaded")
	f.StringVar(&flags.csvMap, "csv-map", "", "columns of CSV files, as `trace=COLUMN,span=COLUMN,start=COLUMN:UNIT,…`; default from the header")
	f.StringVarP(&flags.output, "output", "o", "text", "text or json")
	return cmd
}

// importedFile is what became of one file.
type importedFile struct {
	File     string          `json:"file"`
	Format   string          `json:"format"`
	Spans    int             `json:"spans"`
	Split    int             `json:"split,omitempty"`
	Traces   int             `json:"traces"`
	Other    int             `json:"other_signals,omitempty"`
	Text     int             `json:"text_lines,omitempty"`
	Refused  int             `json:"refused"`
	Refusals []importRefusal `json:"refusals,omitempty"`
	Rejected int64           `json:"rejected"`
	Messages []string        `json:"rejected_because,omitempty"`
	Passed   bool            `json:"passed_over,omitempty"`
	Error    string          `json:"error,omitempty"`

	summary tracefile.Summary
	sent    int
}

type importRefusal struct {
	Line   int    `json:"line,omitempty"`
	Offset int64  `json:"offset"`
	Path   string `json:"path,omitempty"`
	Reason string `json:"reason"`
}

// importReport is what became of all of them.
type importReport struct {
	Files    []*importedFile `json:"files"`
	Spans    int             `json:"spans"`
	Traces   int             `json:"traces"`
	Refused  int             `json:"refused"`
	Rejected int64           `json:"rejected"`
	From     *time.Time      `json:"from"`
	To       *time.Time      `json:"to"`
	Example  string          `json:"example_trace_id,omitempty"`

	traces map[span.TraceID]struct{}
	failed bool
	took   time.Duration
}

func runImport(ctx context.Context, out, notes io.Writer, args []string, flags importFlags) error {
	if flags.output != "text" && flags.output != "json" {
		return &usageError{fmt.Errorf("-o %s: want text or json", flags.output)}
	}
	var opts tracefile.Options
	if flags.csvMap != "" {
		columns, err := tracefile.ParseColumns(flags.csvMap)
		if err != nil {
			return &usageError{err}
		}
		opts.Columns = columns
	}
	files, err := importFiles(args)
	if err != nil {
		return err
	}
	send, err := newSender(flags, notes)
	if err != nil {
		return err
	}
	defer send.close()
	began := time.Now()
	report := &importReport{traces: map[span.TraceID]struct{}{}}
	show := newProgress(notes, len(files))
	for _, f := range files {
		done, err := importFile(ctx, f, opts, send, report, show)
		show.clear()
		if err != nil { // the receiver cannot be reached: the other files would not get further
			return fmt.Errorf("%s: %w; %d spans of it and %d of files before it were sent", f.path, err, done.sent, report.Spans)
		}
		report.add(done)
		if flags.output == "text" {
			done.write(out)
		}
	}
	report.took = time.Since(began)
	if flags.output == "json" {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		err = enc.Encode(report)
	} else {
		err = report.write(out)
	}
	if err == nil && report.failed {
		return errReported
	}
	return err
}

// importFile sends one file. The error is one of sending; what is wrong with the file itself is in the result.
func importFile(ctx context.Context, f foundFile, opts tracefile.Options, send *sender, report *importReport, show *progress) (*importedFile, error) {
	done := &importedFile{File: f.path}
	var sendErr error
	read := func(in io.Reader) (*tracefile.Summary, error) {
		return tracefile.Read(in, opts, func(batch []*tracepb.ResourceSpans) error {
			report.note(batch)
			result, err := send.send(ctx, batch)
			done.Rejected += result.rejected
			for _, m := range result.messages {
				if !slices.Contains(done.Messages, m) {
					done.Messages = append(done.Messages, m)
				}
			}
			done.sent += result.spans
			show.sent(f.path, result.spans)
			sendErr = err
			return err
		})
	}
	summary, err := withFile(f.path, read)
	done.fill(summary)
	switch {
	case sendErr != nil:
		return done, sendErr
	case errors.Is(err, tracefile.ErrFormat) && f.fromFolder:
		done.Passed, done.Refused, done.Refusals = true, 0, nil
	case err != nil:
		done.Error = err.Error()
	}
	return done, nil
}

func withFile(path string, read func(io.Reader) (*tracefile.Summary, error)) (*tracefile.Summary, error) {
	if path == "-" {
		return read(os.Stdin)
	}
	in, err := os.Open(path)
	if err != nil {
		return &tracefile.Summary{}, err
	}
	defer in.Close()
	return read(in)
}

// note counts traces over all files: one trace may be spread over several.
func (r *importReport) note(batch []*tracepb.ResourceSpans) {
	for _, rs := range batch {
		for _, ss := range rs.ScopeSpans {
			for _, sp := range ss.Spans {
				id := span.TraceID(sp.TraceId)
				if r.Example == "" {
					r.Example = id.String()
				}
				r.traces[id] = struct{}{}
			}
		}
	}
	r.Traces = len(r.traces)
}

func (f *importedFile) fill(s *tracefile.Summary) {
	f.summary = *s
	f.Format, f.Spans, f.Split, f.Traces = s.FormatNames(), s.Spans, s.Split, s.Traces
	f.Other, f.Text, f.Refused = s.Other, s.Text, s.Refused
	for _, r := range s.Refusals {
		f.Refusals = append(f.Refusals, importRefusal{r.Line, r.Offset, r.Path, r.Reason})
	}
}

func (r *importReport) add(f *importedFile) {
	r.Files = append(r.Files, f)
	r.Spans += f.Spans
	r.Refused += f.Refused
	r.Rejected += f.Rejected
	if f.Refused > 0 || f.Rejected > 0 || f.Error != "" {
		r.failed = true
	}
	if f.Spans == 0 {
		return
	}
	from, to := f.summary.Range()
	if r.From == nil || from.Before(*r.From) {
		r.From = &from
	}
	if r.To == nil || to.After(*r.To) {
		r.To = &to
	}
}

func (f *importedFile) write(w io.Writer) {
	switch {
	case f.Passed:
		fmt.Fprintf(w, "%s: passed over, no traces in it\n", f.File)
		return
	case f.Error != "" && f.Spans == 0:
		fmt.Fprintf(w, "%s: %s\n", f.File, f.Error)
		return
	}
	fmt.Fprintf(w, "%s: %s, %s in %s", f.File, f.Format, count(f.Spans, "span"), count(f.Traces, "trace"))
	if f.Split > 0 {
		fmt.Fprintf(w, " (%s of two services became two each)", count(f.Split, "record"))
	}
	if f.Other > 0 {
		fmt.Fprintf(w, ", %s of logs and metrics passed over", count(f.Other, "record"))
	}
	if f.Text > 0 {
		fmt.Fprintf(w, ", %s of text passed over", count(f.Text, "line"))
	}
	if f.Refused > 0 {
		fmt.Fprintf(w, ", %d refused:", f.Refused)
	}
	fmt.Fprintln(w)
	writeRefusals(w, &f.summary, shownRefusals)
	if f.Rejected > 0 {
		fmt.Fprintf(w, "  %s rejected by the receiver: %s\n", count(int(f.Rejected), "span"), strings.Join(f.Messages, "; "))
	}
	if f.Error != "" {
		fmt.Fprintf(w, "  %s\n", f.Error)
	}
}

func (r *importReport) write(w io.Writer) error {
	files, passed := 0, 0
	for _, f := range r.Files {
		if f.Passed {
			passed++
		} else {
			files++
		}
	}
	fmt.Fprintf(w, "\nImported %s in %s from %s in %s", count(r.Spans-int(r.Rejected), "span"), count(r.Traces, "trace"), count(files, "file"), r.took.Round(10*time.Millisecond))
	if passed > 0 {
		fmt.Fprintf(w, "; %s passed over", count(passed, "file"))
	}
	if r.Refused > 0 || r.Rejected > 0 {
		fmt.Fprintf(w, "; %d refused, %d rejected by the receiver", r.Refused, r.Rejected)
	}
	_, err := fmt.Fprintln(w, ".")
	if r.From == nil {
		return err
	}
	// Whole seconds around the range: reports take times before `to`.
	from, to := r.From.Truncate(time.Second), r.To.Truncate(time.Second).Add(time.Second)
	_, err = fmt.Fprintf(w, "They cover %s to %s. To see them:\n  laxity trace %s\n  laxity report margin --from %s --to %s\n",
		from.Format(time.RFC3339), to.Format(time.RFC3339), r.Example, from.Format(time.RFC3339), to.Format(time.RFC3339))
	return err
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// foundFile is a file to read. One that a folder held may be no trace file; one that was named must be.
type foundFile struct {
	path       string
	fromFolder bool
}

func importFiles(args []string) ([]foundFile, error) {
	var files []foundFile
	for _, arg := range args {
		info, err := os.Stat(arg)
		switch {
		case arg == "-":
			files = append(files, foundFile{path: arg})
		case err == nil && info.IsDir():
			inside, err := filesBelow(arg)
			if err != nil {
				return nil, err
			}
			files = append(files, inside...)
		case err == nil:
			files = append(files, foundFile{path: arg})
		case strings.ContainsAny(arg, "*?["):
			matches, err := filepath.Glob(arg)
			if err != nil {
				return nil, &usageError{fmt.Errorf("pattern %s: %w", arg, err)}
			}
			if len(matches) == 0 {
				return nil, fmt.Errorf("no file matches %s", arg)
			}
			for _, m := range matches {
				files = append(files, foundFile{path: m})
			}
		default:
			return nil, err
		}
	}
	return files, nil
}

func filesBelow(folder string) ([]foundFile, error) {
	var files []foundFile
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if strings.HasPrefix(d.Name(), ".") && path != folder {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.Type().IsRegular() {
			files = append(files, foundFile{path: path, fromFolder: true})
		}
		return nil
	})
	if err == nil && len(files) == 0 {
		return nil, fmt.Errorf("no file in folder %s", folder)
	}
	return files, err
}
