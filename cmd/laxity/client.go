package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const (
	defaultAPI = "http://127.0.0.1:8484"
	// clientLimit is longer than the server takes for one answer, so that its own words arrive.
	clientLimit = 40 * time.Second
	// answerLimit bounds what is read of one answer.
	answerLimit = 256 << 20
)

// apiClient asks the API for the client commands.
type apiClient struct {
	base  *url.URL
	token string
	http  *http.Client
}

// addAPIFlags adds the flags that newAPIClient reads.
func addAPIFlags(cmd *cobra.Command) {
	cmd.Flags().String("api", defaultAPI, "address of the API")
	cmd.Flags().String("token-file", "", "file with the access token of the API")
}

func newAPIClient(cmd *cobra.Command) (*apiClient, error) {
	address, err := cmd.Flags().GetString("api")
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(address)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, &usageError{fmt.Errorf("--api %q is no address; it looks like %s", address, defaultAPI)}
	}
	path, err := cmd.Flags().GetString("token-file")
	if err != nil {
		return nil, err
	}
	token, err := readToken(path)
	if err != nil {
		return nil, err
	}
	return &apiClient{base: base, token: token, http: &http.Client{Timeout: clientLimit}}, nil
}

// readToken reads an access token; no path means no token. A token that can be guessed is refused.
func readToken(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", &usageError{fmt.Errorf("token file: %w", err)}
	}
	token := strings.TrimSpace(string(data))
	if len(token) < 16 || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", &usageError{fmt.Errorf("token file %s: a token is one word of at least 16 printable characters; make one with: openssl rand -hex 32", path)}
	}
	return token, nil
}

// apiProblem is an answer that is no answer, as the API words it.
type apiProblem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Advice string `json:"advice"`
}

func (p *apiProblem) Error() string {
	text := p.Detail
	if text == "" {
		text = p.Title
	}
	if p.Advice != "" {
		text += "; " + p.Advice
	}
	return text
}

// errUnreachable is wrapped by errors that say that nobody listens at the address of the API.
var errUnreachable = errors.New("no API")

// get asks for one resource below /api/v1 and returns the body of a good answer. Health answers are good with status 503 too.
func (c *apiClient) get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	return c.do(ctx, http.MethodGet, path, query, nil)
}

// do sends one request below /api/v1, with a body in JSON if it is not nil, and returns the body of a good answer.
func (c *apiClient) do(ctx context.Context, method, path string, query url.Values, body any) ([]byte, error) {
	target := c.base.JoinPath("/api/v1", path)
	target.RawQuery = query.Encode()
	var send io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("request: %w", err)
		}
		send = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, target.String(), send)
	if err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%w at %s: %w; start everything with laxity up, or name it with --api", errUnreachable, c.base, unwrapURL(err))
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, answerLimit))
	if err != nil {
		return nil, fmt.Errorf("answer of %s: %w", target, err)
	}
	media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch {
	case response.StatusCode == http.StatusOK, response.StatusCode == http.StatusCreated, response.StatusCode == http.StatusServiceUnavailable && media == "application/json":
		return answer, nil
	case media == "application/problem+json":
		problem := &apiProblem{}
		if err := json.Unmarshal(answer, problem); err != nil {
			return nil, fmt.Errorf("answer of %s: %w", target, err)
		}
		return nil, problem
	}
	return nil, fmt.Errorf("%s answered %s, which is not how Laxity answers; check --api", target, response.Status)
}

// unwrapURL leaves out the method and address that an error of the HTTP client repeats.
func unwrapURL(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}
