"""The site's shell: its pages, and the policy they keep."""

import re

import pytest
from django.test import AsyncClient, Client

# Also where a page asks nothing of it: each request looks whether connections of the last one are stale.
pytestmark = pytest.mark.django_db

PAGES = ("/", "/admin/login/")


def test_the_home_page_leads_to_the_console(client):
    page = client.get("/")

    assert page.status_code == 200
    assert 'href="/admin/"' in page.content.decode()


def test_the_console_has_our_name(client):
    page = client.get("/admin/login/").content.decode()

    assert "| ForgeQueue</title>" in page
    assert "site/mark.svg" in page


@pytest.mark.parametrize("path", PAGES)
def test_pages_send_a_strict_policy_and_keep_it(client, path):
    page = client.get(path)
    body = page.content.decode()

    assert "default-src 'self'" in page.headers["Content-Security-Policy"]
    assert "unsafe" not in page.headers["Content-Security-Policy"]
    assert not re.search(r"<style|<script(?![^>]*\bsrc=)|\sstyle=|\son[a-z]+=", body)
    assert not re.search(r'(?:src|href)="(?:https?:)?//', body)


def test_a_missing_page_says_so_in_our_own_words(client):
    page = client.get("/nowhere/")

    assert page.status_code == 404
    assert "There is nothing at this address." in page.content.decode()
    assert "Content-Security-Policy" in page.headers


def test_a_form_without_its_secret_is_told_what_to_do():
    page = Client(enforce_csrf_checks=True).post("/admin/login/")

    assert page.status_code == 403
    assert "Form out of date" in page.content.decode()


@pytest.mark.parametrize("path", ["/static/site/site.css", "/static/admin/css/base.css"])
def test_static_files_are_served_from_where_they_lie(client, path):
    file = client.get(path)

    assert file.status_code == 200
    assert file.headers["Content-Type"].startswith("text/css")
    assert b"{" in file.getvalue()


async def test_static_files_under_asgi_come_whole_and_without_a_warning(async_client: AsyncClient):
    file = await async_client.get("/static/site/site.css")

    assert file.status_code == 200
    assert not file.streaming
    assert file.headers["Content-Length"] == str(len(file.content))


async def test_an_unchanged_static_file_is_not_sent_again(async_client: AsyncClient):
    file = await async_client.get("/static/site/site.css")

    again = await async_client.get(
        "/static/site/site.css", headers={"If-Modified-Since": file.headers["Last-Modified"]}
    )

    assert again.status_code == 304
    assert again.content == b""
