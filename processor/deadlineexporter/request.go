package deadlineexporter

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exporterhelper/xexporterhelper"

	"github.com/laxity-dev/laxity/internal/hop"
)

// request is a batch in the sending queue. Encoded is set before the queue takes its lock, nil after a merge.
type request struct {
	batch   *hop.Batch
	encoded []byte
}

func newRequest(b *hop.Batch) *request { return &request{batch: b, encoded: b.Encode()} }

// ItemsCount counts the spans.
func (r *request) ItemsCount() int { return r.batch.Len() }

// BytesSize is the size in the queue.
func (r *request) BytesSize() int {
	if r.encoded == nil {
		r.encoded = r.batch.Encode()
	}
	return len(r.encoded)
}

// MergeSplit appends other, if there is one, and cuts the whole into requests of at most maxSize spans; zero does not cut. A
// size in bytes is met on average.
func (r *request) MergeSplit(_ context.Context, maxSize int, sizer exporterhelper.RequestSizerType, other xexporterhelper.Request) ([]xexporterhelper.Request, error) {
	if other != nil {
		o, ok := other.(*request)
		if !ok {
			return nil, fmt.Errorf("deadline exporter: merge of %T", other)
		}
		if free := cap(r.batch.Rows) - len(r.batch.Rows); free < len(o.batch.Rows) {
			// Doubled: a large slice would otherwise grow by a quarter, and each row be copied many times.
			r.batch.Rows = slices.Grow(r.batch.Rows, max(len(r.batch.Rows), len(o.batch.Rows)))
		}
		r.batch.Rows = append(r.batch.Rows, o.batch.Rows...)
		r.batch.Quarantined = append(r.batch.Quarantined, o.batch.Quarantined...)
		r.encoded = nil
	}
	if maxSize == 0 || r.batch.Len() == 0 {
		return []xexporterhelper.Request{r}, nil
	}
	limit := maxSize
	if sizer == exporterhelper.RequestSizerTypeBytes {
		limit = max(1, maxSize*r.batch.Len()/r.BytesSize())
	}
	if r.batch.Len() <= limit {
		return []xexporterhelper.Request{r}, nil
	}
	var parts []xexporterhelper.Request
	for rest := *r.batch; rest.Len() > 0; {
		part := &hop.Batch{}
		n := min(limit, len(rest.Rows))
		part.Rows, rest.Rows = rest.Rows[:n:n], rest.Rows[n:]
		n = min(limit-n, len(rest.Quarantined))
		part.Quarantined, rest.Quarantined = rest.Quarantined[:n:n], rest.Quarantined[n:]
		parts = append(parts, &request{batch: part})
	}
	return parts, nil
}

// encoding is how requests lie in a queue on disk.
type encoding struct{}

// Marshal writes a request.
func (encoding) Marshal(_ context.Context, r xexporterhelper.Request) ([]byte, error) {
	req, ok := r.(*request)
	if !ok {
		return nil, errors.New("deadline exporter: not a request of hops")
	}
	if req.encoded == nil {
		req.encoded = req.batch.Encode()
	}
	return req.encoded, nil
}

// Unmarshal reads a request.
func (encoding) Unmarshal(data []byte) (context.Context, xexporterhelper.Request, error) {
	b, err := hop.Decode(data)
	if err != nil {
		return context.Background(), nil, err
	}
	return context.Background(), &request{batch: b}, nil
}
