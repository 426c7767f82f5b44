"""What breaks a client, by our own comparison of two descriptions."""

from typing import Any

import pytest

from damascus.contracts.breaking import compared, operations
from tests.gates.shop_api import SHOP, Edit, shop

pytestmark = pytest.mark.req("A5")


def item(api: dict[str, Any]) -> Any:
    return api["components"]["schemas"]["Item"]


def new_item(api: dict[str, Any]) -> Any:
    return api["components"]["schemas"]["NewItem"]


def listing(api: dict[str, Any]) -> Any:
    return api["paths"]["/items"]["get"]


def posting(api: dict[str, Any]) -> Any:
    return api["paths"]["/items"]["post"]


def limit(api: dict[str, Any]) -> Any:
    return listing(api)["parameters"][0]


def required(place: str = "query") -> dict[str, Any]:
    return {"name": "shop", "in": place, "required": True, "schema": {"type": "string"}}


def the_body(api: dict[str, Any]) -> Any:
    return posting(api)["requestBody"]["content"]


BREAKING: dict[str, tuple[Edit, str]] = {
    "a path is gone": (lambda api: api["paths"].pop("/items/{id}"), "GET /items/{id}: the path was removed"),
    "an operation is gone": (lambda api: api["paths"]["/items"].pop("post"), "POST /items: the operation was removed"),
    "a parameter is gone": (lambda api: listing(api)["parameters"].pop(), "query parameter 'sort' was removed"),
    "a parameter is new and required": (
        lambda api: listing(api)["parameters"].append(required()), "query parameter 'shop' is new and required",
    ),
    "a header is new and required": (
        lambda api: posting(api).update(parameters=[required("header")]), "header parameter 'shop' is new and required",
    ),
    "a parameter of the path's own is required": (
        lambda api: api["paths"]["/items"].update(parameters=[required()]), "POST /items: query parameter 'shop'",
    ),
    "a parameter becomes required": (lambda api: limit(api).update(required=True), "'limit' is required now"),
    "a parameter has another type": (
        lambda api: limit(api)["schema"].update(type="boolean"), "'limit': takes boolean now, it was integer",
    ),
    "a parameter's bound is lower": (
        lambda api: limit(api)["schema"].update(maximum=10), "`maximum` is 10 now, it was 100",
    ),
    "a parameter gets a bound": (lambda api: limit(api)["schema"].update(minimum=1), "`minimum` is 1 now"),
    "a parameter takes fewer words": (
        lambda api: listing(api)["parameters"][1]["schema"].update(enum=["name"]), 'no longer takes "price"',
    ),
    "a parameter takes a list of words now": (
        lambda api: limit(api)["schema"].update(enum=[1, 2]), "takes only 1, 2 now",
    ),
    "a pattern is new": (
        lambda api: new_item(api)["properties"]["name"].update(pattern="^a"), "'name': the pattern is '^a' now",
    ),
    "a response is gone": (lambda api: listing(api)["responses"].pop("400"), "response 400 was removed"),
    "a status is another one": (
        lambda api: posting(api)["responses"].update({"200": posting(api)["responses"].pop("201")}),
        "response 201 was removed",
    ),
    "a media type is gone": (
        lambda api: the_body(api).update({"text/csv": the_body(api).pop("application/json")}),
        "the request body's application/json was removed",
    ),
    "a response's property is gone": (
        lambda api: item(api)["properties"].pop("name"),
        "GET /items: response 200, each item: property 'name' was removed",
    ),
    "a response's property may be missing": (
        lambda api: item(api).update(required=["id"]), "property 'name' may be missing now",
    ),
    "a response's property has another type": (
        lambda api: item(api)["properties"]["id"].update(type="string"), "gives string now, it was integer",
    ),
    "a response's property may be null": (
        lambda api: item(api)["properties"]["name"].update(type=["string", "null"]), "gives null or string now",
    ),
    "a request's property is new and required": (
        lambda api: (new_item(api)["required"].append("price"),
                     new_item(api)["properties"].update(price={"type": "number"})),
        "POST /items: request: property 'price' is new and required",
    ),
    "a request's property becomes required": (
        lambda api: new_item(api)["required"].append("note"), "property 'note' is required now",
    ),
    "a request's property is gone": (
        lambda api: new_item(api)["properties"].pop("note"), "property 'note' was removed",
    ),
    "a request's property takes less": (
        lambda api: new_item(api)["properties"]["note"].update(type="string"),
        "takes string now, it was null or string",
    ),
    "other properties are refused": (
        lambda api: new_item(api).update(additionalProperties=False), "other properties are refused now",
    ),
    "a required property comes by allOf": (
        lambda api: new_item(api).update(allOf=[{"required": ["price"], "properties": {"price": {}}}]),
        "property 'price' is new and required",
    ),
    "a credential is needed": (
        lambda api: api.update(security=[{"key": []}]), "it needs a credential now",
    ),
    "the request body becomes required": (
        lambda api: api["paths"]["/items/{id}"]["get"].update(requestBody={"required": True, "content": {}}),
        "the request body is required now",
    ),
    "an alternative is gone": (
        lambda api: the_body(api)["application/json"].update(schema={"oneOf": [{"type": "string"}]}),
        "takes",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BREAKING)
def test_is_named_as_breaking(name: str) -> None:
    edit, words = BREAKING[name]
    base = SHOP
    if name == "an alternative is gone":
        base = shop(
            lambda api: the_body(api)["application/json"].update(
                schema={"oneOf": [{"type": "string"}, {"type": "null"}]}
            )
        )
        words = '`oneOf` no longer takes {"type": "null"}'
    told = [f"{change.operation}: {change.text}" for change in compared(base, shop(edit)).changes]
    assert any(words in text for text in told), told


HARMLESS: dict[str, Edit] = {
    "nothing": lambda api: None,
    "a path more": lambda api: api["paths"].update({"/more": {"get": {"responses": {"200": {"description": ""}}}}}),
    "a parameter more": lambda api: listing(api)["parameters"].append(required() | {"required": False}),
    "a response more": lambda api: listing(api)["responses"].update({"404": {"description": "no"}}),
    "a response's property more": lambda api: item(api)["properties"].update(price={"type": "number"}),
    "a response's property always there": lambda api: item(api)["required"].append("parts"),
    "a request's property more": lambda api: new_item(api)["properties"].update(price={"type": "number"}),
    "a request's property no longer required": lambda api: new_item(api).update(required=[]),
    "a request takes more": lambda api: new_item(api)["properties"]["name"].update(type=["string", "null"]),
    "a parameter takes a number": lambda api: limit(api)["schema"].update(type="number"),
    "a bound is higher": lambda api: limit(api)["schema"].update(maximum=1000),
    "a word more": lambda api: listing(api)["parameters"][1]["schema"]["enum"].append("age"),
    "another description": lambda api: listing(api).update(description="better words"),
    "a variable has another name": lambda api: api["paths"].update(
        {"/items/{item}": renamed(api["paths"].pop("/items/{id}"))}
    ),
    "a range stands for a status": lambda api: listing(api)["responses"].update(
        {"4XX": listing(api)["responses"].pop("400")}
    ),
    "a schema is written in place": lambda api: the_body(api)["application/json"].update(schema=new_item(api)),
    "a schema has another name": lambda api: (
        api["components"]["schemas"].update(Fresh=new_item(api)),
        the_body(api)["application/json"].update(schema={"$ref": "#/components/schemas/Fresh"}),
    ),
    "a property that is read only is required": lambda api: new_item(api).update(
        required=["name", "id"], properties=new_item(api)["properties"] | {"id": {"type": "integer", "readOnly": True}}
    ),
}


def renamed(path: dict[str, Any]) -> dict[str, Any]:
    path["get"]["parameters"][0]["name"] = "item"
    return path


@pytest.mark.parametrize("name", HARMLESS)
def test_is_not_called_breaking(name: str) -> None:
    found = compared(SHOP, shop(HARMLESS[name]))
    assert [f"{change.operation}: {change.text}" for change in found.changes] == []


def test_what_is_not_judged_is_named() -> None:
    found = compared(SHOP, shop(lambda api: new_item(api).update({"not": {"required": ["price"]}})))
    assert found.unjudged == ["POST /items: request: `not` differs"]


def test_a_change_can_be_meant_by_operation_path_and_id() -> None:
    [change] = compared(SHOP, shop(lambda api: api["paths"]["/items"].pop("get"))).changes
    assert change.names == ("GET /items", "/items", "listItems")
    assert operations(SHOP) == ["GET /items", "POST /items", "GET /items/{id}"]


def test_an_older_description_is_compared_as_well() -> None:
    def older(required: list[str], kind: str) -> dict[str, Any]:
        body = {"type": "object", "required": required, "properties": {"name": {"type": "string"}}}
        parameters = [{"in": "body", "name": "b", "schema": body}, {"in": "query", "name": "n", "type": kind}]
        return {
            "swagger": "2.0",
            "basePath": "/v1" if kind == "string" else "/v2",
            "paths": {
                "/a": {"post": {"parameters": parameters, "responses": {"200": {"description": "", "schema": {}}}}}
            },
        }

    told = [change.text for change in compared(older([], "string"), older(["name"], "integer")).changes]
    assert told == [
        "basePath was '/v1' and is '/v2'",
        "query parameter 'n': takes integer now, it was string",
        "request: property 'name' is required now",
    ]
