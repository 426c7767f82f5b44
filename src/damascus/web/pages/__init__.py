"""The pages, a file each: what people/ answers, in its template."""
