package stream

import (
	"context"
	"io"
	"iter"
)

// Seq watches an iterator of values and errors. values gets a context of the stream's own, which is cancelled when the stream
// ends. content reports whether a value is content or only a sign of life; nil means that every value is content. The first
// error is the last pair, and it is an *IdleError when a clock ran out.
func Seq[T any](ctx context.Context, values func(context.Context) iter.Seq2[T, error], content func(T) bool, opts ...Option) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var next func() (T, error, bool)
		var stop func()
		pull := func(own context.Context) (T, error) {
			if next == nil {
				next, stop = iter.Pull2(values(own))
			}
			value, err, ok := next()
			if !ok {
				err = io.EOF
			}
			return value, err
		}
		finish := func() {
			if stop != nil {
				stop()
			}
		}
		deliver(newWatch(ctx, source[T]{pull: pull, finish: finish}, orAll(content), opts), yield)
	}
}

// Chan watches a channel; it ends when the channel is closed. content is as for Seq.
func Chan[T any](ctx context.Context, values <-chan T, content func(T) bool, opts ...Option) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		pull := func(own context.Context) (value T, err error) {
			select {
			case v, ok := <-values:
				if !ok {
					return value, io.EOF
				}
				return v, nil
			case <-own.Done():
				return value, context.Cause(own)
			}
		}
		deliver(newWatch(ctx, source[T]{pull: pull}, orAll(content), opts), yield)
	}
}

func orAll[T any](content func(T) bool) func(T) bool {
	if content == nil {
		return func(T) bool { return true }
	}
	return content
}

// deliver yields items until the stream ends or its consumer has enough.
func deliver[T any](w *watch[T], yield func(T, error) bool) {
	defer w.close()
	for {
		value, err := w.next()
		if err == io.EOF {
			return
		}
		if !yield(value, err) || err != nil {
			return
		}
	}
}
