package stream_test

import (
	"context"
	"errors"
	"io"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/laxity-dev/laxity/sdk/stream"
)

// A source that heeds no context and returns only once it is closed, as a bare connection does, is closed while it is read.
func TestIssueSourceThatOnlyACloseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := io.Pipe()
		defer far.Close()
		r := stream.NewReader(context.Background(), func(context.Context) (io.ReadCloser, error) { return near, nil }, nil, stream.WithIdle(time.Second))
		if _, err := r.Read(make([]byte, 1)); !errors.Is(err, syscall.ETIMEDOUT) {
			t.Errorf("err %v", err)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if !r.Wait(ctx) {
			t.Error("the source is still read")
		}
	})
}
