package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

const (
	// Receivers take messages of 4 MiB by default.
	maxMessage  = 3 << 20
	callTimeout = 30 * time.Second
	firstWait   = 100 * time.Millisecond
	longestWait = 5 * time.Second
)

// sender sends batches over OTLP, one at a time. Not safe for concurrent use.
type sender struct {
	conn     *grpc.ClientConn
	client   collectorpb.TraceServiceClient
	address  string
	token    string
	retryFor time.Duration
	notes    io.Writer
	wait     func(context.Context, time.Duration) error
}

// sent is what became of a batch.
type sent struct {
	spans    int
	rejected int64
	messages []string
}

func newSender(flags importFlags, notes io.Writer) (*sender, error) {
	s := &sender{address: flags.address, retryFor: flags.retryFor, notes: notes, wait: waitFor}
	if flags.tokenFile != "" {
		token, err := os.ReadFile(flags.tokenFile)
		if err != nil {
			return nil, fmt.Errorf("token file: %w", err)
		}
		s.token = string(bytes.TrimSpace(token))
	}
	secure := insecure.NewCredentials()
	address, isTLS := strings.CutPrefix(flags.address, "https://")
	if isTLS {
		secure = credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})
	}
	conn, err := grpc.NewClient(strings.TrimPrefix(address, "http://"), grpc.WithTransportCredentials(secure))
	if err != nil {
		return nil, &usageError{fmt.Errorf("--otlp-grpc %s: %w", flags.address, err)}
	}
	s.conn, s.client = conn, collectorpb.NewTraceServiceClient(conn)
	return s, nil
}

func (s *sender) close() { _ = s.conn.Close() }

// send cuts a batch into messages that a receiver takes and sends them.
func (s *sender) send(ctx context.Context, batch []*tracepb.ResourceSpans) (sent, error) {
	var total sent
	for _, message := range cutMessages(batch, maxMessage) {
		if err := s.message(ctx, message, &total); err != nil {
			return total, err
		}
	}
	return total, nil
}

func (s *sender) message(ctx context.Context, message []*tracepb.ResourceSpans, total *sent) error {
	response, err := s.export(ctx, message)
	n := countSpans(message)
	if tooLarge(err) {
		if n == 1 {
			total.reject(1, "a span larger than a message may be: "+status.Convert(err).Message())
			return nil
		}
		for _, half := range cutMessages(message, proto.Size(&collectorpb.ExportTraceServiceRequest{ResourceSpans: message})/2) {
			if err := s.message(ctx, half, total); err != nil {
				return err
			}
		}
		return nil
	}
	if code := status.Code(err); code == codes.InvalidArgument {
		total.reject(int64(n), status.Convert(err).Message())
		return nil
	}
	if err != nil {
		return err
	}
	if partial := response.GetPartialSuccess(); partial.GetRejectedSpans() > 0 {
		total.reject(partial.RejectedSpans, partial.ErrorMessage)
	} else if partial.GetErrorMessage() != "" {
		fmt.Fprintf(s.notes, "laxity: the receiver says: %s\n", partial.ErrorMessage)
	}
	total.spans += n
	return nil
}

func (t *sent) reject(n int64, because string) {
	if because == "" {
		because = "it gives no reason"
	}
	t.rejected += n
	t.messages = append(t.messages, because)
}

// export tries again while the receiver is away or overloaded, at the pace it asks for, until the time for it is over.
func (s *sender) export(ctx context.Context, message []*tracepb.ResourceSpans) (*collectorpb.ExportTraceServiceResponse, error) {
	request := &collectorpb.ExportTraceServiceRequest{ResourceSpans: message}
	began, wait, noted := time.Now(), firstWait, false
	for {
		response, err := s.call(ctx, request)
		if err == nil || !retryable(err) {
			return response, s.explainError(err)
		}
		asked, ok := askedDelay(err)
		if !ok {
			asked = wait
		}
		if time.Since(began)+asked > s.retryFor {
			return nil, fmt.Errorf("gave up after %v: %w", s.retryFor, s.explainError(err))
		}
		if !noted {
			noted = true
			fmt.Fprintf(s.notes, "laxity: waiting for %s: %v\n", s.address, s.explainError(err))
		}
		if err := s.wait(ctx, asked); err != nil {
			return nil, err
		}
		wait = min(2*wait, longestWait)
	}
}

func (s *sender) call(ctx context.Context, request *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
	if s.token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+s.token)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return s.client.Export(ctx, request)
}

func waitFor(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

func retryable(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Aborted:
		return true
	case codes.ResourceExhausted:
		return !tooLarge(err)
	}
	return false
}

func tooLarge(err error) bool {
	return status.Code(err) == codes.ResourceExhausted && strings.Contains(status.Convert(err).Message(), "larger than max")
}

// askedDelay reads how long the receiver wants us to wait.
func askedDelay(err error) (time.Duration, bool) {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok && info.RetryDelay != nil {
			return max(info.RetryDelay.AsDuration(), 0), true
		}
	}
	return 0, false
}

func (s *sender) explainError(err error) error {
	var hint string
	switch status.Code(err) {
	case codes.OK, codes.InvalidArgument, codes.ResourceExhausted:
		return err
	case codes.Unavailable:
		hint = "is it running? 'laxity up' starts one here, --otlp-grpc names another"
	case codes.Unauthenticated, codes.PermissionDenied:
		hint = "it asks for a token: --token-file"
	case codes.Unimplemented:
		hint = "it does not take traces over OTLP gRPC"
	default:
		return err
	}
	return &sendError{err, fmt.Sprintf("%s (%s)", status.Convert(err).Message(), hint)}
}

// sendError says what to do and keeps the status.
type sendError struct {
	err  error
	text string
}

func (e *sendError) Error() string              { return e.text }
func (e *sendError) Unwrap() error              { return e.err }
func (e *sendError) GRPCStatus() *status.Status { return status.Convert(e.err) }

// cutMessages splits resource spans into messages of at most size bytes, or of one span. Resources and scopes are
// repeated, spans are not copied.
func cutMessages(batch []*tracepb.ResourceSpans, size int) [][]*tracepb.ResourceSpans {
	var messages [][]*tracepb.ResourceSpans
	var current []*tracepb.ResourceSpans
	used := 0
	for _, rs := range batch {
		resource := proto.Size(rs.Resource) + len(rs.SchemaUrl) + 16
		var group *tracepb.ResourceSpans
		for _, ss := range rs.ScopeSpans {
			scope := proto.Size(ss.Scope) + len(ss.SchemaUrl) + 16
			var spans *tracepb.ScopeSpans
			for _, sp := range ss.Spans {
				need := proto.Size(sp) + 8
				if used > 0 && used+need+resource+scope > size {
					messages = append(messages, current)
					current, group, spans, used = nil, nil, nil, 0
				}
				if group == nil {
					group = &tracepb.ResourceSpans{Resource: rs.Resource, SchemaUrl: rs.SchemaUrl}
					current = append(current, group)
					spans = nil
					used += resource
				}
				if spans == nil {
					spans = &tracepb.ScopeSpans{Scope: ss.Scope, SchemaUrl: ss.SchemaUrl}
					group.ScopeSpans = append(group.ScopeSpans, spans)
					used += scope
				}
				spans.Spans = append(spans.Spans, sp)
				used += need
			}
		}
	}
	if used > 0 {
		messages = append(messages, current)
	}
	return messages
}

func countSpans(batch []*tracepb.ResourceSpans) int {
	n := 0
	for _, rs := range batch {
		for _, ss := range rs.ScopeSpans {
			n += len(ss.Spans)
		}
	}
	return n
}

// progress shows on a terminal how far the import is; elsewhere it is silent.
type progress struct {
	w     io.Writer
	files int
	at    string
	done  int
	spans int
	shown time.Time
}

func newProgress(w io.Writer, files int) *progress {
	p := &progress{files: files}
	if f, ok := w.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			p.w = w
		}
	}
	return p
}

func (p *progress) sent(file string, spans int) {
	p.spans += spans
	if file != p.at {
		p.at = file
		p.done++
	}
	if p.w == nil || time.Since(p.shown) < 100*time.Millisecond {
		return
	}
	p.shown = time.Now()
	fmt.Fprintf(p.w, "\r\x1b[Kfile %d of %d, %d spans sent: %s", p.done, p.files, p.spans, file)
}

func (p *progress) clear() {
	if p.w != nil {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
