module github.com/laxity-dev/laxity/sdk

go 1.26.0
